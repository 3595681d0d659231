"""Protocols of what only some models and probes have."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mase.arrays import Floats
from mase.attribution import Answer, Note
from mase.text import Tokens

__all__ = ["AnswerModel", "AnsweredProbe", "PromptedModel", "ReadingModel", "TokenModel"]


@runtime_checkable
class AnswerModel(Protocol):
    """A language model with answers, whose columns are log-probabilities."""

    @property
    def default_method(self) -> str:
        """Name of the method that explains it if nobody names one."""
        ...

    @property
    def links(self) -> tuple[str, ...]:
        """Names of links, the default first."""
        ...


@runtime_checkable
class AnsweredProbe(Protocol):
    """A language model bound to a prompt, whose scores are log-probabilities of an answer and its parts."""

    @property
    def answer(self) -> Answer:
        """The answer."""
        ...

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is to be said of the answer, such as that it was cut off."""
        ...


@runtime_checkable
class PromptedModel(Protocol):
    """A language model whose answers depend on settings of its own, which results record beside its name."""

    @property
    def prompting(self) -> Mapping[str, Any]:
        """The settings, as plain JSON types."""
        ...


@runtime_checkable
class ReadingModel(Protocol):
    """A model whose answers depend on how it reads texts, which its weights do not tell, and which runs record."""

    def reads(self) -> Mapping[str, Any]:
        """Return the settings, as plain JSON types, with a checksum of the tokenizer; empty if nothing is known."""
        ...


@runtime_checkable
class TokenModel(Protocol):
    """A model that also accepts token sequences that are not the tokens of a text, for example with tokens removed."""

    def predict_tokens(self, tokens: Sequence[Tokens]) -> Floats:
        """Return class probabilities `(n, k)` of n sequences of tokens, none of them empty."""
        ...
