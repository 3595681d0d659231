"""What is explained: a document of named fields, the units that are in or out as one, and the model's tokens."""

from dataclasses import dataclass

__all__ = ["Field", "Token", "Unit"]


@dataclass(frozen=True, slots=True)
class Field:
    """One named string of a document. A plain text is a document with the one field ``text``.

    The units of a `fixed` field are no coordinates: the model always reads all of it.
    """

    name: str
    text: str
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a field that is in or out as one: a word, a token, a phrase.

    `start` and `end` are its span in the text of the field, in code points, and `text` is what stands there.
    """

    field: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Token:
    """One token as the model read it.

    `start` and `end` are its span in the text of `field` and `unit` is the index of its unit. All of these are None for
    special tokens.
    """

    text: str
    field: str | None
    start: int | None
    end: int | None
    unit: int | None
