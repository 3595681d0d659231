"""The units of a document (the parts that are scored) and the model's tokens."""

from dataclasses import dataclass

__all__ = ["Token", "Unit"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a field that is kept or masked as one and gets one score: a word, a token or a phrase.

    `start` and `end` are its span in the text of the field, in code points, and `text` is the text of that span.
    """

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token as the model read it.

    `start` and `end` are its span in the text of `field`, and `unit` is the index of its unit. All four are None for
    special tokens.
    """

    text: str
    field: str | None
    start: int | None
    end: int | None
    unit: int | None
