"""The interface of language models: they continue a prompt, and say how probable a given continuation is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from mase.arrays import Floats
from mase.errors import ShapeError
from mase.text import Span

# One turn of a chat, with the keys "role" and "content".
Message = dict[str, str]
# Label words, or the word of each label.
Labels = Sequence[str] | Mapping[str, str]
# What ended an answer before the model did: the largest number of new tokens that was asked for, the end of the window
# that a prompt and its answer share, or the longest answer that the model can give.
Cut = Literal["max-new-tokens", "window", "longest-answer"]
# The exact text, or the turns of a chat.
Prompt = str | list[Message]


@dataclass(frozen=True, slots=True)
class Continuation:
    """The t tokens of an answer.

    Attributes
    ----------
    text
        The answer.
    ids
        The id of each token. A server that tells no ids numbers them.
    spans
        The span of each token in `text`; an empty one for a token that adds no character.
    cut
        What ended a generated answer before the model did; None if the model ended it, or it was given.
    """

    text: str
    ids: tuple[int, ...]
    spans: tuple[Span, ...]
    cut: Cut | None = None

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.spans):
            raise ShapeError(f"ids and spans have lengths {len(self.ids)} and {len(self.spans)}, expected one length")

    def __len__(self) -> int:
        return len(self.ids)


@runtime_checkable
class LanguageModel(Protocol):
    """A model that generates text.

    Attributes
    ----------
    name
        Name for provenance and messages.
    sha256
        Checksum of the weights; None for a server.
    """

    @property
    def name(self) -> str:
        """Name for provenance and messages."""
        ...

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights; None for a server."""
        ...

    def generate(self, prompt: Prompt, max_new_tokens: int) -> Continuation:
        """Return the greedy continuation of a prompt, without the token that ends it, and what cut it off."""
        ...

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        ...

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return, for each answer, the natural log-probabilities `(n, t)` of its t tokens after each of n prompts.

        The probability of a token is that after the prompt and the tokens of the answer before it.
        """
        ...


@runtime_checkable
class RoundingLanguageModel(Protocol):
    """A language model that says whether it rounds so much that numbers depend on the batch."""

    @property
    def rounds(self) -> bool:
        """Whether it does, as in half precision."""
        ...


@runtime_checkable
class HalfLanguageModel(Protocol):
    """A language model that can also be evaluated in half precision."""

    def half(self) -> LanguageModel | None:
        """Return the same model in bfloat16; None if that would be slower."""
        ...


@runtime_checkable
class ReadingLanguageModel(Protocol):
    """A language model that can read a prompt ahead."""

    def reading(self, prompt: Prompt) -> LanguageModel:
        """Return the same model after it has read a prompt, so that prompts which begin alike cost less."""
        ...


@runtime_checkable
class SpecialTokenLanguageModel(Protocol):
    """A language model whose tokenizer takes pieces of a text for special tokens, such as the end of a turn."""

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of these pieces of a text."""
        ...


@runtime_checkable
class LabelledLanguageModel(Protocol):
    """A language model that may have label words, with which it is a classifier of prompts.

    Attributes
    ----------
    labels
        The label words as `mase.models.LabelWords` takes them; None if it is no classifier.
    template
        The prompt for it.
    chat
        Whether messages go through a chat template. Otherwise they are text.
    """

    @property
    def labels(self) -> Labels | None:
        """The label words."""
        ...

    @property
    def template(self) -> Prompt | None:
        """The prompt for them."""
        ...

    @property
    def chat(self) -> bool:
        """Whether messages go through a chat template."""
        ...
