"""From what a user has (a name, a folder, a module, a function) to a model adapter."""

import os
import sys
from pathlib import Path
from typing import Any

from mase.errors import MissingDependencyError, OptionError
from mase.models.bundled import ADAPTED, BUNDLED, is_adapted, named
from mase.models.protocol import Model
from mase.registry import unknown

__all__ = ["adapt", "load", "require"]


def load(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Model:
    """Return a model by name: a bundled one, a folder written by `mase train`, or a Hugging Face classifier.

    Parameters
    ----------
    name_or_path
        ``"lstm-imdb"``, ``"lstm-reuters"``, ``"bert-imdb"``, ``"bert-reuters"``, a folder, or the name of a Hugging
        Face model that is in its local cache. A `Path` is always a folder.
    download
        Whether a Hugging Face model that is not on this machine may be fetched.
    device
        Where to put the model, for example ``"cuda"``; the CPU by default.
    trust_remote_code
        Whether code that comes with a Hugging Face model may run. A model that needs it is refused otherwise.

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
    ours = named(name_or_path, (*BUNDLED, *ADAPTED)) or _exists(name)
    if ours and is_adapted(name_or_path):
        require("torch", "hf")
        require("transformers", "hf")
        from mase.models import bundled

        return bundled.load_adapted(name_or_path, device=device)
    if ours and (named(name_or_path, BUNDLED) or (Path(name) / "vocabulary.txt").is_file()):
        require("torch", "torch")
        from mase.models import bundled

        return bundled.load(name_or_path, device=device)
    known = ours or "/" in name or download
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


def adapt(model: Any, tokenizer: Any = None, *, name: str | None = None) -> Model:
    """Return `model` as an adapter.

    Parameters
    ----------
    model
        An adapter already, a name or folder, a Hugging Face classifier or another torch module (with its tokenizer), a
        fitted estimator or pipeline of scikit-learn that takes texts, or a function `list[str] -> (n, k)`.
    tokenizer
        The tokenizer of a torch module.
    name
        What to call a function or an estimator, for provenance; its own name by default.

    Raises
    ------
    OptionError
        If it is none of these.
    CapabilityError
        If it is an estimator without probabilities.
    """
    if isinstance(model, type):
        raise OptionError(f"model is the class {model.__name__}, expected an object of it, as in {model.__name__}(...)")
    if callable(getattr(type(model), "bind", None)):
        return model  # type: ignore[no-any-return]
    if isinstance(model, str | os.PathLike):
        return load(model)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return _adapt_module(model, tokenizer)
    from mase.models.scikit_learn import is_estimator, scikit_learn

    if is_estimator(model):
        return scikit_learn(model, name=name)
    if callable(model):
        from mase.models.callable import Callable

        return Callable(model, name=name)
    raise OptionError(
        f"model is of type {type(model).__name__}, expected a name or folder, a torch module, an estimator of scikit-learn, a "
        "function from texts to probabilities (n, k), or an adapter from mase.models"
    )


def _adapt_module(module: Any, tokenizer: Any) -> Model:
    if tokenizer is None:
        raise OptionError(
            f"{type(module).__name__} came without a tokenizer, expected Explainer(model, tokenizer) for a Hugging Face model, "
            "or mase.models.TorchModule(module, tokenize=..., labels=[...]) for any other"
        )
    transformers = sys.modules.get("transformers")
    peft = sys.modules.get("peft")
    theirs = (*([transformers.PreTrainedModel] if transformers else ()), *([peft.PeftModel] if peft else ()))
    if isinstance(module, theirs):
        from mase.models.transformers import HuggingFace

        return HuggingFace(module, tokenizer)
    from mase.models.torch_module import TorchModule

    return TorchModule(module, tokenize=tokenizer)


def _exists(name: str) -> bool:
    """Return whether there is such a path; no path can be as long as a text may be."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def _cached(name: str) -> bool:
    """Return whether the Hugging Face cache of this machine holds a model of this (one-word) name."""
    home = Path(os.environ.get("HF_HOME", Path.home() / ".cache" / "huggingface"))
    return _exists(os.fspath(Path(os.environ.get("HF_HUB_CACHE", home / "hub")) / f"models--{name}"))


def require(package: str, extra: str) -> None:
    """Raise the error that names the extra to install, if a package is missing."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        raise MissingDependencyError(f"{package} is not installed; run: pip install 'mase-xai[{extra}]'")
