"""The output folder of a training: it is checked before the training, and its files are replaced together."""

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from mase.errors import DataError
from mase.files import check_writable, replacing, writing

__all__ = ["writable", "write_model"]
_WEIGHTS = "model.safetensors"


def writable(path: Path, *, adapted: bool) -> Path:
    """Return the absolute `path` of a folder that exists and that a training may write to."""
    path = path.absolute()  # a relative one may read as the name of a bundled model
    existing = [name for name in ("config.json", "README.md", _WEIGHTS) if (path / name).is_file()]
    if existing and not _is_ours(path / "config.json", adapted=adapted):
        raise DataError(
            f"the folder {path} holds another {existing[0]}, expected a new folder or one that `mase train` made for "
            "such a model; name another (mase train --output)"
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot make the folder {path} ({error.strerror}), expected a place to write the model to"
        ) from error
    if not os.access(path, os.W_OK):
        raise DataError(f"the folder {path} cannot be written to, expected a place to write the model to")
    return path


def write_model(path: Path, weights: bytes, texts: Mapping[str, str]) -> None:
    """Write the weights of a model and the texts beside them, by name of file, into its folder.

    An earlier model stays until all files are on the disk. From then until the new files are in place the folder has no
    weights, so that a kill in between leaves none that could be opened with texts of another model.
    """
    contents = {_WEIGHTS: weights, **{name: text.encode() for name, text in texts.items()}}
    targets = {check_writable(path / name).resolve(): content for name, content in contents.items()}
    with writing(path), ExitStack() as drafts:  # the last one is moved into its place first, the weights last
        for target, content in targets.items():
            with drafts.enter_context(replacing(target)).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # a disk may be found full only here, when the earlier model is still there
        next(iter(targets)).unlink(missing_ok=True)


def _is_ours(config: Path, *, adapted: bool) -> bool:
    """Return whether a configuration is that of a trained model of this kind, adapted from a pretrained one or not."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "training" in content and ("base" in content) == adapted
