"""The answer of a language model, whose parts are explained."""

from dataclasses import dataclass

__all__ = ["Answer", "Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an answer, such as a sentence.

    `start` and `end` are its span in the text of the answer, in code points, and `response` is the name of the response
    that explains it.
    """

    start: int
    end: int
    response: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The explained answer.

    Attributes
    ----------
    text
        The answer.
    parts
        Its parts. A single part is explained by the response of the whole answer.
    generated
        Whether the model wrote it, rather than whoever asked.
    """

    text: str
    parts: tuple[Part, ...]
    generated: bool
