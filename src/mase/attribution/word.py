"""A unit with its score."""

from dataclasses import dataclass

__all__ = ["Word"]


@dataclass(frozen=True, slots=True)
class Word:
    """A unit with its score for one response: a view of an `Attribution`.

    `start` and `end` are its span in the text of `field`. `standard_error` has the unit of `score`. It is None if the
    score is not an estimate.
    """

    text: str
    start: int
    end: int
    field: str
    score: float
    standard_error: float | None

    def __str__(self) -> str:
        return self.text
