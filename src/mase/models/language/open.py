"""From an object, a folder, a name or a server to a language model."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mase.errors import DataError, OptionError
from mase.models.base import unwrapped
from mase.models.bundled import ADAPTED, BUNDLED, named
from mase.models.language.answers import Generated, LabelWords
from mase.models.language.base import LanguageModel
from mase.models.limits import is_folder
from mase.models.names import check_local_path, is_remote
from mase.models.tokens import check_no_tokenizer
from mase.registry import completed, require

if TYPE_CHECKING:
    from mase.models.folder import LanguageKind
    from mase.models.language.torch import CausalLM, Seq2Seq


_EXPECTED = (
    "a folder or name of a language model, one of transformers with its tokenizer, a text-generation pipeline, or "
    "mase.models.CausalLM, Seq2Seq or CompletionServer"
)


def generates(model: object) -> bool:
    """Return whether an object is a language model of this library or of transformers, or a pipeline of one."""
    if isinstance(model, type):
        return False
    model = _base(model)
    return _scores_answers(model) or _is_pipeline(model) or _can_generate(model)


def language_model(model: Any, tokenizer: Any = None, *, name: str | None = None) -> LanguageModel:
    """Return an object, or what a folder or name holds, as a language model."""
    if isinstance(model, str | os.PathLike):
        check_no_tokenizer("a model that is loaded by its name", tokenizer)
        from mase.models.http import open_remote

        return language_model(open_remote(model)) if is_remote(model) else load_language_model(model)
    if isinstance(model, Generated | LabelWords) or (_scores_answers(model) and not isinstance(model, type)):
        check_no_tokenizer("a model of mase.models", tokenizer)
        own = model.language_model if isinstance(model, Generated | LabelWords) else model
        return completed(own, LanguageModel)
    if _is_pipeline(model):
        check_no_tokenizer("a pipeline", tokenizer)
        return language_model(model.model, model.tokenizer, name=name)
    model = _base(model)
    if not _can_generate(model):
        what = f"the class {model.__name__}" if isinstance(model, type) else f"of type {type(model).__name__}"
        raise OptionError(f"model is {what}, expected {_EXPECTED}")
    if tokenizer is None:
        raise OptionError(f"tokenizer is None, expected that of {type(model).__name__}; pass it after the model")
    if model.config.is_encoder_decoder:
        from mase.models.language.torch import Seq2Seq

        return Seq2Seq(model, tokenizer, name=name)
    from mase.models.language.torch import CausalLM

    return CausalLM(model, tokenizer, name=name)


def _base(model: Any) -> Any:
    """Return the model of transformers inside a compiled one or one of peft, whose layers it has; else the object."""
    model = unwrapped(model)
    peft = sys.modules.get("peft")
    if peft is None or not isinstance(model, peft.PeftModel):
        return model
    from mase.models.torch.lora import with_adapters

    return with_adapters(model)


def _scores_answers(model: object) -> bool:
    """Return whether an object has the methods of a language model, of this library or of another package."""
    return callable(getattr(type(model), "log_probabilities", None)) and callable(getattr(model, "generate", None))


def _can_generate(model: object) -> bool:
    """Return whether an object is a model of transformers that generates text."""
    transformers = sys.modules.get("transformers")
    loaded = transformers is not None and isinstance(model, transformers.PreTrainedModel)
    return loaded and bool(model.can_generate())  # type: ignore[attr-defined]


def _is_pipeline(model: object) -> bool:
    """Return whether an object is a pipeline of transformers that generates text."""
    pipelines = sys.modules.get("transformers.pipelines")
    return pipelines is not None and isinstance(model, pipelines.TextGenerationPipeline)


def load_language_model(
    name_or_path: str | os.PathLike[str],
    *,
    download: bool = False,
    device: str | None = None,
    trust_remote_code: bool = False,
    name: str | None = None,
) -> "CausalLM | Seq2Seq":
    """Return a language model of Hugging Face, in float32: a `CausalLM` or a `Seq2Seq`, as its configuration says.

    A folder whose configuration names no class of model is taken for a causal language model.

    Parameters
    ----------
    name_or_path
        A folder, or a name in the local cache of the hub. A `Path` is always a folder.
    download
        Whether a name that is not on this machine may be downloaded. Only safetensors weights are loaded.
    device
        Where to put the model, for example ``"cuda"``; the CPU by default.
    trust_remote_code
        Whether the code of the model may run. If False, a model that needs it is refused.
    name
        Name for provenance; the folder or name by default.
    """
    check_local_path(name_or_path)
    _check_foreign(name_or_path)
    _require()
    from mase.models.language.torch import read_pretrained
    from mase.models.origin import Loaded, absolute
    from mase.models.torch.engine import moved

    kind = _kind(name_or_path, download=download) or "causal"
    module, tokenizer = read_pretrained(name_or_path, kind, download=download, trust_remote_code=trust_remote_code)
    module = moved(module, device)
    model = _adapter(kind)(module, tokenizer, name=name or os.fspath(name_or_path))
    arguments = {"name_or_path": absolute(name_or_path), "download": download, "trust_remote_code": trust_remote_code}
    model.origin = Loaded(load_language_model, arguments | {"name": model.name}, model.checksum.versions())
    return model


def _check_foreign(name_or_path: str | os.PathLike[str]) -> None:
    """Check that a name or folder is not one of a classifier that this library trains."""
    vocabulary = Path(name_or_path) / "vocabulary.txt"
    if named(name_or_path, (*BUNDLED, *ADAPTED)) or (is_folder(vocabulary.parent) and vocabulary.is_file()):
        raise OptionError(
            f"model is {os.fspath(name_or_path)!r:.200}, which is a classifier, expected a language model; "
            "mase.explain (mase explain) explains classifiers"
        )


def _adapter(kind: "LanguageKind") -> "type[CausalLM | Seq2Seq]":
    """Return the class of a kind of language models."""
    if kind == "seq2seq":
        from mase.models.language.torch import Seq2Seq

        return Seq2Seq
    from mase.models.language.torch import CausalLM

    return CausalLM


def is_language_model(name_or_path: str | os.PathLike[str], *, download: bool = False) -> bool:
    """Return whether the configuration of a folder, or of a name of the hub, names the class of a language model."""
    _require()
    return _kind(name_or_path, download=download) is not None


def _kind(name_or_path: str | os.PathLike[str], *, download: bool) -> "LanguageKind | None":
    """Return the kind that a configuration names; None if there is none, which is reported when the model is read."""
    from mase.models.folder import locate
    from mase.models.language.torch import language_kind

    with suppress(DataError):
        return language_kind(locate(name_or_path, download=download))
    return None


def _require() -> None:
    require("torch", "hf")
    require("transformers", "hf")
