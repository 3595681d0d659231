"""The base class of language models: they continue a prompt, and say how probable a given continuation is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mase.arrays import Floats
from mase.errors import ModelError, ShapeError
from mase.text import Span

if TYPE_CHECKING:
    from mase.models.description import LanguageDescription

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


class LanguageModel:
    """A model that generates text.

    A subclass has the two attributes, `generate`, `continuation` and `log_probabilities`. It overrides what else it can
    do.
    """

    if TYPE_CHECKING:  # a property that is there when the program runs would be in the way of an attribute of that name

        @property
        def name(self) -> str:
            """Name for provenance and messages."""

        @property
        def sha256(self) -> str | None:
            """Checksum of the weights; None for a server."""

    def generate(self, prompt: Prompt, max_new_tokens: int) -> Continuation:
        """Return the greedy continuation of a prompt, without the token that ends it, and what cut it off."""
        raise NotImplementedError

    def continuation(self, answer: str) -> Continuation:
        """Return the tokens of a given answer."""
        raise NotImplementedError

    def log_probabilities(self, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
        """Return, for each answer, the natural log-probabilities `(n, t)` of its t tokens after each of n prompts.

        The probability of a token is that after the prompt and the tokens of the answer before it.
        """
        raise NotImplementedError

    def reading(self, prompt: Prompt) -> "LanguageModel":
        """Return the same model after it has read a prompt, so that prompts which begin alike cost less."""
        del prompt
        return self

    def half(self) -> "LanguageModel | None":
        """Return the same model in bfloat16; None if it has none, or if that would be slower."""
        return None

    @property
    def rounds(self) -> bool:
        """Whether it rounds so much that numbers depend on the batch, as in half precision."""
        return False

    def special_spans(self, text: str) -> tuple[Span, ...]:
        """Return the spans of pieces of a text that are special tokens to it, such as the end of a turn."""
        del text
        return ()

    @property
    def labels(self) -> Labels | None:
        """The label words, as `mase.models.LabelWords` takes them, of a classifier of prompts; None for none."""
        return None

    @property
    def template(self) -> Prompt | None:
        """The prompt for the label words."""
        return None

    @property
    def chat(self) -> bool:
        """Whether messages go through a chat template. Otherwise they are text."""
        return True

    def reads(self) -> Mapping[str, Any]:
        """Return how it reads prompts, as plain JSON types; empty if nothing is known, as of a server."""
        return {}

    @property
    def description(self) -> "LanguageDescription | None":
        """What it was taken for; None if it does not say."""
        return None


# How far above 0 the logarithm of a probability may be, by rounding in half precision.
_ROUNDING = 1e-2


def log_probabilities(model: LanguageModel, prompts: Sequence[Prompt], answers: Sequence[Continuation]) -> list[Floats]:
    """Return `model.log_probabilities(prompts, answers)`, whose shapes and signs are checked.

    Raises
    ------
    ModelError
        If it returns anything else than logarithms of probabilities.
    """
    returned = model.log_probabilities(prompts, answers)
    shapes = [(len(prompts), len(answer)) for answer in answers]
    try:
        tables = [np.add(table, 0.0) for table in returned]  # of floats, of the same precision
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{model.name} returned {returned!r:.80}, expected arrays of log-probabilities of the shapes {shapes}"
        ) from error
    if [table.shape for table in tables] != shapes:
        raise ModelError(
            f"{model.name} returned log-probabilities of the shapes {[table.shape for table in tables]}, expected "
            f"{shapes}: prompts by tokens of each answer"
        )
    highest = max((float(table.max(initial=-np.inf)) for table in tables), default=0.0)
    if highest > _ROUNDING:
        raise ModelError(
            f"{model.name} returned {highest:.3g} as a log-probability, expected numbers <= 0: natural logarithms of "
            "probabilities, not the probabilities or their losses"
        )
    return tables
