"""The probe of a model that reads a prompt: units are deleted from the fields that fill it."""

import math
from dataclasses import dataclass, replace
from typing import Protocol, Self

from mase.document import Document
from mase.errors import CapabilityError
from mase.models.callable_probe import BlackBox, CallableProbe
from mase.models.language.protocol import (
    LanguageModel,
    Prompt,
    ReadingLanguageModel,
    RoundingLanguageModel,
    SpecialTokenLanguageModel,
)
from mase.models.protocol import Binding
from mase.models.rewriting import Content, Rewriter, word_tokens
from mase.text import Tokens

__all__ = ["PromptModel", "PromptProbe", "having_read", "prompt_tokens"]

# Rows that the language model gets at once. It orders them by length and makes its own batches of them.
_ROWS = 64


class PromptModel(BlackBox, Protocol):
    """What the probe needs of a model."""

    @property
    def language_model(self) -> LanguageModel:
        """The language model that reads the prompts."""
        ...

    def half(self) -> Self | None:
        """Return the same model in bfloat16; None if it has none, or if that would be slower."""
        ...

    def reading(self, text: Content) -> Self:
        """Return the same model after it has read a prompt, given the contents of its fields."""
        ...


@dataclass(frozen=True, slots=True)
class PromptProbe(CallableProbe):
    """A model of prompts, bound to a document. See `mase.models.protocol.Probe`."""

    model: PromptModel

    @classmethod
    def of(cls, model: PromptModel, binding: Binding) -> Self:
        """Return the probe of one document.

        Raises
        ------
        CapabilityError
            If the space needs an embedding layer.
        OptionError
            If the prompt does not name the fields of the document.
        """
        if not binding.space.binary:
            raise CapabilityError(
                "the prompt of a language model has no embedding layer to scale, expected a method that masks words; "
                "use method='mase-cite'"
            )
        document = binding.tokens.document
        document.check_masks()
        model = model.reading(document.content)
        start = model.scores([document.content])
        rewriter = Rewriter.of(binding.tokens, binding.coordinate_of_token)
        return cls(model, binding, rewriter, None, start, batch_size=_ROWS)

    @property
    def rounding(self) -> float:
        """Infinity if the language model rounds, as in half precision: an answer may be any number of tokens."""
        language_model = self.model.language_model
        return math.inf if isinstance(language_model, RoundingLanguageModel) and language_model.rounds else 0.0

    def half(self) -> Self | None:
        """Return the same probe in bfloat16; None if the model has none, or if that would be slower."""
        half = self.model.half()
        return None if half is None else replace(self, model=half.reading(self.binding.tokens.document.content))


def prompt_tokens(model: LanguageModel, document: Document) -> Tokens:
    """Return the words of all fields of a document as tokens, with the pieces that the model takes for special tokens.

    Raises
    ------
    EmptyTextError
        If there is none.
    """
    tokens = word_tokens(document)
    if not isinstance(model, SpecialTokenLanguageModel):
        return tokens
    return replace(tokens, special=model.special_spans(tokens.text))


def having_read(model: LanguageModel, prompt: Prompt) -> LanguageModel:
    """Return a language model after it has read a prompt, if it can do so."""
    return model.reading(prompt) if isinstance(model, ReadingLanguageModel) else model
