"""The answer of a language model to a prompt of a run, with its sources, as the list shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mase.attribution import Word
from mase.characters import shortened
from mase.render.palette import Scale
from mase.render.pieces import inline, visible

__all__ = ["CitedAnswer", "Source"]

_LONGEST, _LONGEST_SOURCE = 4_000, 200


@dataclass(frozen=True, slots=True)
class Source:
    """A source of an answer.

    Attributes
    ----------
    place
        The name of its field; empty if the units of the prompt are all in the same one.
    text
        The beginning of its text, on one line.
    score
        Its score, with half the width of the 95 % interval.
    """

    place: str
    text: str
    score: str


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer, cut if it is very long, and its sources, the strongest first."""

    text: str
    sources: tuple[Source, ...]

    @classmethod
    def of(cls, text: str, words: Sequence[Word], scale: Scale, *, named: bool) -> Self:
        """Return an answer with these units as its sources; `named` says whether the names of their fields matter."""
        found = [
            Source(
                place=shortened(inline(word.field), _LONGEST_SOURCE) if named else "",
                text=shortened(inline(" ".join(word.text.split())), _LONGEST_SOURCE),
                score=scale.interval(word),
            )
            for word in words
        ]
        return cls(shortened(visible(text), _LONGEST), tuple(found))
