"""Load models by name: bundled models, folders, ONNX files, models of Hugging Face, and models behind a URL."""

import os
from pathlib import Path

from mase.errors import DataError, OptionError
from mase.lazy import require
from mase.models.bundled import ADAPTED, BUNDLED, is_adapted, named
from mase.models.http.address import is_url
from mase.models.local_path import check_local_path, is_cached
from mase.models.protocol import Model
from mase.registry import unknown

__all__ = ["is_onnx", "is_remote", "load"]


def load(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """Return a model by name: a bundled one, a folder of `mase train`, an ONNX file, one of Hugging Face, or a URL.

    Parameters
    ----------
    name_or_path
        ``"lstm-imdb"``, ``"lstm-reuters"``, ``"bert-imdb"``, ``"bert-reuters"``, a folder, a ``.onnx`` file with its
        tokenizer beside it, or the name of a Hugging Face model that is in its local cache: a classifier, or a language
        model, whose answers are explained (`mase.models.language.generated.Generated`). A `Path` is always a folder
        or a file. A str that begins with ``http://`` or ``https://`` is the URL of a model
        (`mase.models.http.opening.open_url`), and a file that ends in ``.json`` describes one (`open_description`).
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
        If nothing is at a path, or its files cannot be read, are beyond the limits (`mase.models.limits`), or would
        run code.
    MissingDependencyError
        If torch (or transformers) is not installed.
    OptionError
        If this is no name or path, the URL or the description of a model is invalid, or one is given with an option
        that does not apply to it.
    ServiceError
        If the server of a URL does not answer.
    """
    if not isinstance(name_or_path, str | os.PathLike):
        raise OptionError(
            f"got a model of type {type(name_or_path).__name__}, expected a name, a path or a URL; pass any other "
            "model itself, as in mase.Explainer(model)"
        )
    name = os.fspath(name_or_path)
    if is_remote(name_or_path):
        if download or device is not None or trust_remote_code:
            raise OptionError("got download, device or trust_remote_code with a URL, expected none: the server decides")
        return _behind_url(name)
    check_local_path(name_or_path)
    local = named(name_or_path, (*BUNDLED, *ADAPTED)) or _exists(name)
    if local and is_adapted(name_or_path):
        require("torch", "hf")
        require("transformers", "hf")
        from mase.models import bundled

        return bundled.load_adapted(name_or_path, device=device)
    if local and is_onnx(name):
        require("onnxruntime", "onnx")
        require("tokenizers", "onnx")
        from mase.models.onnx_folder import read

        return read(name, device=device)
    if local and (named(name_or_path, BUNDLED) or (Path(name) / "vocabulary.txt").is_file()):
        require("torch", "torch")
        from mase.models import bundled

        return bundled.load(name_or_path, device=device)
    if _is_file(name):
        raise DataError(
            f"{name!r} is a file, expected a .onnx file, the folder of a model, or a name; load any other file in "
            "Python and pass the model, to a command as FILE.py:NAME"
        )
    if not (local or "/" in name or download or is_cached(name)):
        raise unknown(
            "model",
            name,
            [*BUNDLED, *ADAPTED, "a folder with a Hugging Face model"],
            "; on the Hugging Face hub it is owner/name, which download=True downloads",
        )
    return _of_transformers(name_or_path, download=download, device=device, trust_remote_code=trust_remote_code)


def _behind_url(name: str) -> Model:
    """Return the model at a URL, or of a file that describes how to ask it."""
    from mase.models.http import opening
    from mase.models.language.generated import Generated
    from mase.models.language.protocol import LanguageModel

    opened = opening.open_url(name) if is_url(name) else opening.open_description(Path(name))
    return Generated(opened) if isinstance(opened, LanguageModel) else opened


def _of_transformers(
    name_or_path: str | os.PathLike[str], *, download: bool, device: str | None, trust_remote_code: bool
) -> Model:
    """Return the classifier or the language model of a folder or of the hub."""
    require("torch", "hf")
    require("transformers", "hf")
    from mase.models.language.loading import is_language_model, load_language_model

    if is_language_model(name_or_path, download=download):
        from mase.models.language.generated import Generated

        model = load_language_model(name_or_path, download=download, device=device, trust_remote_code=trust_remote_code)
        return Generated(model)
    from mase.models.transformers import HuggingFace

    name = os.fspath(name_or_path)
    return HuggingFace(name, download=download, device=device, trust_remote_code=trust_remote_code)


def is_remote(name_or_path: str | os.PathLike[str]) -> bool:
    """Return whether this is a model behind a URL: the URL itself, or a JSON file that describes how to ask it."""
    name = os.fspath(name_or_path)
    return (isinstance(name_or_path, str) and is_url(name)) or (name.endswith(".json") and _is_file(name))


def _is_file(name: str) -> bool:
    return _exists(name) and Path(name).is_file()


def is_onnx(name: str) -> bool:
    """Return whether this is a `.onnx` file, or a folder whose only weights are in a `model.onnx`."""
    path = Path(name)
    return path.suffix == ".onnx" or ((path / "model.onnx").is_file() and not (path / "model.safetensors").is_file())


def _exists(name: str) -> bool:
    """Return whether the path exists; a string that is too long for a path does not."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False
