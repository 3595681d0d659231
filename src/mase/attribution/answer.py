"""The answer of a language model, whose probability is explained."""

from dataclasses import dataclass

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
