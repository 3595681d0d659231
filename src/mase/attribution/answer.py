"""The answer of a language model, whose probability is explained."""

from dataclasses import dataclass, replace
from typing import Self

__all__ = ["Answer", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer, such as a sentence: its span, and the name of the response that explains it."""

    start: int
    end: int
    response: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a language model.

    Attributes
    ----------
    text
        The answer.
    parts
        Its explained parts in order; one that is the whole answer if there are no others.
    generated
        Whether the model gave this answer to the whole prompt. Otherwise somebody else did.
    """

    text: str
    parts: tuple[Part, ...]
    generated: bool

    def about(self, response: str) -> Self:
        """Return the answer with the one part that a response explains: the whole answer, if it explains no other."""
        parts = tuple(part for part in self.parts if part.response == response)
        return replace(self, parts=parts or (Part(0, len(self.text), response),))
