"""The output folder of a training, which is made and checked before the training."""

import json
import os
from pathlib import Path

from mase.errors import DataError

__all__ = ["writable"]


def writable(path: Path, *, adapted: bool) -> Path:
    """Return the absolute `path` of a folder that exists and that a training may write to.

    Raises
    ------
    DataError
        If it cannot be made or written to, or has files of another origin that the training would replace.
    """
    path = path.absolute()  # a relative one may read as the name of a bundled model
    existing = [name for name in ("config.json", "README.md", "model.safetensors") if (path / name).is_file()]
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


def _is_ours(config: Path, *, adapted: bool) -> bool:
    """Return whether a configuration is that of a trained model of this kind, adapted from a pretrained one or not."""
    try:
        content = json.loads(config.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and "training" in content and ("base" in content) == adapted
