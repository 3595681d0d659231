"""Turn a user's object into a language model."""

import os
import sys
from typing import Any

from mase.errors import OptionError
from mase.models.compiled import unwrapped
from mase.models.language.generated import Generated
from mase.models.language.label_words import LabelWords
from mase.models.language.protocol import LanguageModel
from mase.models.tokenizing import check_no_tokenizer

__all__ = ["generates", "language_model"]

_EXPECTED = (
    "a folder or name of a language model, one of transformers with its tokenizer, a text-generation pipeline, or "
    "mase.models.CausalLM, Seq2Seq or CompletionServer"
)


def generates(model: object) -> bool:
    """Return whether an object is a language model of this library or of transformers, or a pipeline of one."""
    if isinstance(model, type):
        return False
    model = _base(model)
    return isinstance(model, LanguageModel) or _is_pipeline(model) or _can_generate(model)


def language_model(model: Any, tokenizer: Any = None, *, name: str | None = None) -> LanguageModel:
    """Return an object, or what a folder or name holds, as a language model.

    Raises
    ------
    OptionError
        If it is none, or its tokenizer is missing, or is given beside what has its own.
    DataError
        If a folder or name holds no language model that can be read.
    """
    if isinstance(model, str | os.PathLike):
        check_no_tokenizer("a model that is loaded by its name", tokenizer)
        from mase.models.language.loading import load_language_model
        from mase.models.loading import is_remote, load

        return language_model(load(model)) if is_remote(model) else load_language_model(model)
    if isinstance(model, Generated | LabelWords | LanguageModel) and not isinstance(model, type):
        check_no_tokenizer("a model of mase.models", tokenizer)
        return model.language_model if isinstance(model, Generated | LabelWords) else model
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
        from mase.models.language.seq2seq import Seq2Seq

        return Seq2Seq(model, tokenizer, name=name)
    from mase.models.language.causal import CausalLM

    return CausalLM(model, tokenizer, name=name)


def _base(model: Any) -> Any:
    """Return the model of transformers inside a compiled one or one of peft, whose layers it has; else the object."""
    model = unwrapped(model)
    peft = sys.modules.get("peft")
    if peft is None or not isinstance(model, peft.PeftModel):
        return model
    from mase.models.lora import with_adapters

    return with_adapters(model)


def _can_generate(model: object) -> bool:
    """Return whether an object is a model of transformers that generates text."""
    transformers = sys.modules.get("transformers")
    loaded = transformers is not None and isinstance(model, transformers.PreTrainedModel)
    return loaded and bool(model.can_generate())  # type: ignore[attr-defined]


def _is_pipeline(model: object) -> bool:
    """Return whether an object is a pipeline of transformers that generates text."""
    pipelines = sys.modules.get("transformers.pipelines")
    return pipelines is not None and isinstance(model, pipelines.TextGenerationPipeline)
