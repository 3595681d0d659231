"""A unit with its score."""

from collections.abc import Sequence
from dataclasses import dataclass

from mase.attribution.document import Unit
from mase.attribution.response import Response

__all__ = ["Word", "words_of"]


@dataclass(frozen=True, slots=True)
class Word:
    """A unit with its score for one response: a view of an `Attribution`.

    `start` and `end` are its span in the text of `field`. `standard_error` has the unit of `score`, and so has
    `total_error`, the half width of whose 95 % interval displays show (`Response`). Both are None if the score is not
    an estimate.
    """

    text: str
    start: int
    end: int
    field: str
    score: float
    standard_error: float | None
    total_error: float | None = None

    def __str__(self) -> str:
        return self.text


def words_of(units: Sequence[Unit], response: Response) -> tuple[Word, ...]:
    """Return the units with their scores for a response."""
    return tuple(
        Word(unit.text, unit.start, unit.end, unit.field, score, error, total)
        for unit, score, error, total in zip(
            units, response.scores, response.standard_errors, response.interval_errors, strict=True
        )
    )
