"""Small trained classifiers that come with the library, and any folder written by `mase train`.

A model is a folder: `model.safetensors` (float16), `vocabulary.txt`, `config.json` and a model card, `README.md`.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mase.errors import DataError, MissingDependencyError
from mase.registry import unknown

if TYPE_CHECKING:
    from mase.models.torch_module import TorchModule

__all__ = ["BUNDLED", "FILES", "folder", "load"]

BUNDLED = ("lstm-imdb", "lstm-reuters")
FILES = ("model.safetensors", "vocabulary.txt", "config.json")


def folder(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the folder of a bundled model, or of one written by `mase train`.

    Raises
    ------
    UnknownNameError
        If it is neither the name of a bundled model nor a folder.
    DataError
        If one of the model's files is not in the folder.
    """
    name = os.fspath(name_or_path)
    place = Path(__file__).parent / name if name in BUNDLED else Path(name)
    if not place.is_dir():
        raise unknown("bundled model", name, list(BUNDLED))
    missing = [file for file in FILES if not (place / file).is_file()]
    if missing:
        raise DataError(
            f"{place} has no {', '.join(missing)}, expected {', '.join(FILES)}; "
            "reinstall mase-xai if it is a bundled model, else train it again with `mase train`"
        )
    return place


def load(name_or_path: str | os.PathLike[str], *, device: str | None = None) -> "TorchModule":
    """Return a trained LSTM classifier, in float32 and evaluation mode, on the CPU unless `device` says otherwise.

    Raises
    ------
    UnknownNameError
        If it is neither the name of a bundled model nor a folder.
    DataError
        If a file is missing, unreadable or does not fit the others.
    MissingDependencyError
        If torch or safetensors is not installed.
    """
    place = folder(name_or_path)
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed; run: pip install 'mase-xai[torch]'") from error
    from mase.models.bundled.reading import read_module
    from mase.models.bundled.vocabulary import PAD_ID, UNKNOWN_ID, Vocabulary
    from mase.models.torch_module import TorchModule

    config = _read_config(place / "config.json")
    vocabulary = Vocabulary.read(place / "vocabulary.txt")
    module = read_module(place / "model.safetensors", config, len(vocabulary))
    return TorchModule(
        module.to(device) if device is not None else module,
        tokenize=vocabulary.encode,
        labels=config["labels"],
        embedding="embedding",
        pad_id=PAD_ID,
        unk_id=UNKNOWN_ID,
        max_length=config["max_length"],
        keep=config["keep"],
        outputs="logits",
        name=config["name"],
    )


def _read_config(path: Path) -> dict[str, Any]:
    expected = {"name", "labels", "max_length", "keep", "embedding_width", "hidden_width", "pool"}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    if not isinstance(config, dict) or not expected <= config.keys():
        raise DataError(f"{path} does not describe a model, expected an object with {', '.join(sorted(expected))}")
    return config
