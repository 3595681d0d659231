"""Load models by name: bundled models, folders, ONNX files, and Hugging Face classifiers."""

import os
from pathlib import Path

from mase.lazy import require
from mase.models.bundled import ADAPTED, BUNDLED, is_adapted, named
from mase.models.protocol import Model
from mase.registry import unknown

__all__ = ["load"]


def load(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """Return a model by name: a bundled one, a folder written by `mase train`, an ONNX file, or one of Hugging Face.

    Parameters
    ----------
    name_or_path
        ``"lstm-imdb"``, ``"lstm-reuters"``, ``"bert-imdb"``, ``"bert-reuters"``, a folder, a ``.onnx`` file with its
        tokenizer beside it, or the name of a Hugging Face model that is in its local cache. A `Path` is always a folder
        or a file.
    download
        Whether a Hugging Face model that is not on this machine may be downloaded.
    device
        Where to put the model, for example ``"cuda"``; the CPU by default.
    trust_remote_code
        Whether the code of a Hugging Face model may run. If False, a model that needs its own code is refused.

    Raises
    ------
    UnknownNameError
        If there is no such model.
    DataError
        If its files cannot be read, are beyond the limits (`mase.models.limits`), or would run code.
    MissingDependencyError
        If torch (or transformers) is not installed.
    """
    name = os.fspath(name_or_path)
    local = named(name_or_path, (*BUNDLED, *ADAPTED)) or _exists(name)
    if local and is_adapted(name_or_path):
        require("torch", "hf")
        require("transformers", "hf")
        from mase.models import bundled

        return bundled.load_adapted(name_or_path, device=device)
    if local and _is_onnx(name):
        require("onnxruntime", "onnx")
        require("tokenizers", "onnx")
        from mase.models.onnx_folder import read

        return read(name, device=device)
    if local and (named(name_or_path, BUNDLED) or (Path(name) / "vocabulary.txt").is_file()):
        require("torch", "torch")
        from mase.models import bundled

        return bundled.load(name_or_path, device=device)
    known = local or "/" in name or download
    if not known and not _cached(name):
        raise unknown(
            "model",
            name,
            [*BUNDLED, *ADAPTED, "a folder with a Hugging Face model", "owner/name of the Hugging Face hub"],
        )
    require("torch", "hf")
    require("transformers", "hf")
    from mase.models.transformers import HuggingFace

    return HuggingFace(name, download=download, device=device, trust_remote_code=trust_remote_code)


def _is_onnx(name: str) -> bool:
    """Return whether this is a `.onnx` file, or a folder whose only weights are in a `model.onnx`."""
    path = Path(name)
    return path.suffix == ".onnx" or ((path / "model.onnx").is_file() and not (path / "model.safetensors").is_file())


def _exists(name: str) -> bool:
    """Return whether the path exists; a string that is too long for a path does not."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _cached(name: str) -> bool:
    """Return whether the local Hugging Face cache has a model of this name (without an owner)."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    return _exists(os.fspath(Path(os.environ.get("HF_HUB_CACHE", home / "hub")) / f"models--{name}"))
