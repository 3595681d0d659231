"""Small trained classifiers that come with the library, and models written by `mase train`.

A model is a folder with `model.safetensors` (float16), `config.json` and a model card, `README.md`. The folder of an
LSTM also has a `vocabulary.txt`. The `config.json` of a transformer names the pretrained model to which the stored
weights are added.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mase.errors import DataError, MissingDependencyError, OptionError
from mase.models import limits
from mase.models.bundled.files import check_configuration
from mase.models.limits import is_folder, read_json, whole_number
from mase.models.origin import Loaded, absolute
from mase.registry import unknown

if TYPE_CHECKING:
    from mase.models.torch.module import TorchModule
    from mase.models.transformers import HuggingFace

__all__ = ["ADAPTED", "ADAPTED_FILES", "BUNDLED", "FILES", "folder", "is_adapted", "load", "load_adapted", "named"]
BUNDLED = ("lstm-imdb", "lstm-reuters")
# These need transformers and their pretrained model.
ADAPTED = ("bert-imdb", "bert-reuters", "mpnet-imdb", "mpnet-reuters")
FILES = ("model.safetensors", "vocabulary.txt", "config.json")
ADAPTED_FILES = ("model.safetensors", "config.json")


def folder(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the folder of a bundled model, or of one written by `mase train`."""
    if not isinstance(name_or_path, str | os.PathLike):
        raise OptionError(
            f"got a model of type {type(name_or_path).__name__}, expected the name of a bundled model, or a folder "
            "that `mase train` wrote"
        )
    name = os.fspath(name_or_path)
    place = Path(__file__).parent / name if named(name_or_path, (*BUNDLED, *ADAPTED)) else Path(name)
    if not is_folder(place):
        raise unknown("bundled model", name, [*BUNDLED, *ADAPTED])
    files = ADAPTED_FILES if is_adapted(place) else FILES
    missing = [file for file in files if not (place / file).is_file()]
    if missing:
        raise DataError(
            f"{place} has no {', '.join(missing)}, expected {', '.join(files)}; "
            "reinstall mase-xai if it is a bundled model, else train it again with `mase train`"
        )
    return place


def named(name_or_path: str | os.PathLike[str], names: Collection[str]) -> bool:
    """Return whether this is one of the given model names; a `Path`, or a string with a separator, is a folder instead.

    Examples
    --------
    >>> named("lstm-imdb", BUNDLED), named(Path("lstm-imdb"), BUNDLED), named("./lstm-imdb", BUNDLED)
    (True, False, False)
    """
    return isinstance(name_or_path, str) and name_or_path in names


def _lasting(name_or_path: str | os.PathLike[str]) -> str | Path:
    """Return the name of a bundled model, or the absolute path of a folder."""
    return absolute(name_or_path) if not named(name_or_path, (*BUNDLED, *ADAPTED)) else str(name_or_path)


def is_adapted(name_or_path: str | os.PathLike[str]) -> bool:
    """Return whether this is the name of a fine-tuned transformer, or a folder that `mase train` wrote for one."""
    if named(name_or_path, ADAPTED):
        return True
    place = Path(name_or_path)
    if not is_folder(place) or not (place / "config.json").is_file():
        return False
    config = read_json(place / "config.json")
    return isinstance(config, dict) and isinstance(config.get("base"), dict)


def load_adapted(
    name_or_path: str | os.PathLike[str], *, base: str | os.PathLike[str] | None = None, device: str | None = None
) -> "HuggingFace":
    """Return a fine-tuned transformer as a plain Hugging Face classifier, in float32 and evaluation mode.

    Parameters
    ----------
    name_or_path
        ``"bert-imdb"``, ``"bert-reuters"``, ``"mpnet-imdb"``, ``"mpnet-reuters"``, or a folder that `mase train`
        wrote.
    base
        Folder (or name in the hub's cache) of the pretrained model. The default is the one named in the model's
        `config.json`. If that is not found, the folder in the environment variable MASE_BASE is used.
    device
        Where to put the model; the CPU by default.
    """
    place = folder(name_or_path)
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401

        from mase.models.bundled.bert import read
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed; run: pip install 'mase-xai[hf]'") from error
    model = read(place, base=base, device=device)
    arguments = {"name_or_path": _lasting(name_or_path), "base": None if base is None else absolute(base)}
    model.origin = Loaded(load_adapted, arguments, model.checksum.versions())
    return model


def load(name_or_path: str | os.PathLike[str], *, device: str | None = None) -> "TorchModule":
    """Return a trained LSTM classifier, in float32 and evaluation mode, on `device` (the CPU by default).

    Raises
    ------
    UnknownNameError
        If this is neither the name of a bundled model nor a folder.
    DataError
        If a file is missing, cannot be read, or does not fit the other files.
    MissingDependencyError
        If torch or safetensors is not installed.
    """
    place = folder(name_or_path)
    try:
        import safetensors.torch  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(f"{error.name} is not installed; run: pip install 'mase-xai[torch]'") from error
    from mase.models.bundled.files import PAD_ID, UNKNOWN_ID, Vocabulary
    from mase.models.bundled.lstm import read_module
    from mase.models.torch.engine import moved
    from mase.models.torch.module import TorchModule

    config = _read_config(place / "config.json")
    vocabulary = Vocabulary.read(place / "vocabulary.txt")
    module = read_module(place / "model.safetensors", config, len(vocabulary))
    model = TorchModule(
        moved(module, device),
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
    model.origin = Loaded(load, {"name_or_path": _lasting(name_or_path)}, model.checksum.versions())
    return model


def _read_config(path: Path) -> dict[str, Any]:
    expected = {"name", "labels", "max_length", "keep", "embedding_width", "hidden_width", "pool"}
    config = read_json(path)
    if not isinstance(config, dict) or not expected <= config.keys():
        raise DataError(f"{path} does not describe a model, expected an object with {', '.join(sorted(expected))}")
    for name in ("embedding_width", "hidden_width"):
        whole_number(path, name, config[name], 1, limits.WIDTH)
    if config["pool"] not in ("last", "max"):
        raise DataError(f"{path} has pool {config['pool']!r:.60}, expected 'last' or 'max'")
    check_configuration(path, config)
    return config
