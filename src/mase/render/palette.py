"""Colours, and the scale of a text: how strongly a word is coloured, and how its numbers are formatted."""

import math
from dataclasses import dataclass
from decimal import ROUND_UP, Context
from typing import Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Attribution, Word
from mase.attribution.response import Z95, in_order
from mase.attribution.verdict import NEGLIGIBLE

__all__ = [
    "BLUE",
    "FAINT_SHADES",
    "NEUTRAL",
    "RED",
    "SHADES",
    "Z95",
    "Scale",
    "are_estimates",
    "error95",
    "has_intervals",
    "is_by_score",
    "is_significant",
    "is_unsigned",
    "scale_of",
    "strongest",
]

# Distinguishable with every common kind of colour blindness, and visible on light and on dark backgrounds.
RED, BLUE = "#dc2f45", "#2f7fe0"
# For unsigned scores.
NEUTRAL = "#8a5fc4"
# One-letter attributes for the strength of a word, the second six for words whose interval includes 0. They keep a page
# of ten long texts near 100 kB, which a class attribute per word would not.
SHADES, FAINT_SHADES = "abcdef", "ghijkl"
# Below this share of the strongest score a word is not marked, because its shade would be invisible.
_UNMARKED = 0.1
_SET_APART = 10_000  # as in `mase.render.numbers.amount`
_LARGEST = 1e15  # larger scores and errors have an exponent, because doubles do not have all of their digits
_MOST_DECIMALS = 5
_ONE_DIGIT = Context(prec=1, rounding=ROUND_UP)


def error95(word: Word) -> float | None:
    """Return half the width of the 95 % interval of a word's score; None if it has none."""
    error = word.standard_error if word.total_error is None else word.total_error
    return None if error is None else Z95 * error


def are_estimates(attribution: Attribution) -> bool:
    """Return whether the scores are estimates, exact ones included; True for an attribution without words."""
    errors = attribution.responses[0].standard_errors
    return not errors or any(error is not None for error in errors)


def has_intervals(attribution: Attribution) -> bool:
    """Return whether a score has an interval. Exact scores, and those that are not estimates, have none."""
    return any(attribution.responses[0].interval_errors)


def is_unsigned(attribution: Attribution) -> bool:
    """Return whether the sign of the scores has no meaning."""
    return not (attribution.signed and are_estimates(attribution))


def strongest(attribution: Attribution, k: int) -> tuple[Word, ...]:
    """Return the k words that displays list: those of largest absolute score.

    If the method orders words otherwise than by their scores, they are the first words of that order.
    """
    return attribution.top(k, by="magnitude" if is_by_score(attribution) else "order")


def is_by_score(attribution: Attribution) -> bool:
    """Return whether the method orders words by their scores, those that are most for the target first."""
    return in_order(attribution.scores, attribution.order)


def is_significant(word: Word) -> bool:
    """Return whether the 95 % interval of a word's score excludes 0; True if there is no interval."""
    error = error95(word)
    return error is None or abs(word.score) > error


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of one text: its largest absolute score, and the number of decimals that shows three digits of it.

    `decimals` is None for very small or very large scores, which are shown with an exponent. `intervals` says whether
    the scores of the text have intervals, `signs` whether a sign means something, and `marks` whether anything matters.

    Examples
    --------
    >>> scale = Scale(0.25, 3)
    >>> scale.signed(0.1), scale.signed(-0.04), scale.error(0.0001)
    ('+0.100', '−0.040', '0.001')
    """

    maximum: float
    decimals: int | None
    intervals: bool = True
    signs: bool = True
    marks: bool = True

    @classmethod
    def of(cls, maximum: float, *, intervals: bool = True, signs: bool = True, marks: bool = True) -> Self:
        """Return the scale of scores of at most this absolute value."""
        digits = 2 - math.floor(math.log10(maximum)) if maximum else 3
        plain = digits <= _MOST_DECIMALS and maximum < _LARGEST
        return cls(maximum, max(0, digits) if plain else None, intervals, signs, marks)

    def level(self, word: Word, levels: int) -> int:
        """Return the strength of a word from 1 to `levels`, or 0 if it is not marked."""
        return int(self.levels(np.array([word.score]), levels)[0])

    def levels(self, scores: Floats, levels: int) -> Ints:
        """Return the strengths `(w,)` of words from 1 to `levels`, or 0 where a word is not marked."""
        shares = np.abs(scores) / (self.maximum or 1.0)
        strengths = np.minimum(levels, np.ceil(shares * levels - 1e-9)).astype(np.int64)
        return np.where((shares < _UNMARKED) | (not self.marks), 0, strengths)

    def signed(self, value: float) -> str:
        """Return a score with its sign, if there are any."""
        number = f"{abs(value):.1e}" if self.decimals is None else self._fixed(abs(value))
        sign = "−" if value < 0 else "+" if self.signs else ""
        return f"{sign if number.strip('0.e+') else ''}{number}"

    def error(self, value: float) -> str:
        """Return half the width of an interval, rounded up so that it never looks smaller than it is."""
        if self.decimals is None or value > _LARGEST:
            return f"{float(_ONE_DIGIT.create_decimal(value * (1 - 1e-9))):.0e}"  # any size, infinity included
        unit = 10**self.decimals
        return self._fixed(math.ceil(value * unit - 1e-9) / unit)

    def _fixed(self, size: float) -> str:
        """Return a number with the decimals of the scale; from 10,000 on thousands are set apart, as in values."""
        number = f"{size:.{self.decimals}f}"
        return number if float(number) < _SET_APART else f"{size:,.{self.decimals}f}"

    def interval(self, word: Word, between: str = " ± ") -> str:
        """Return a word's score and half the width of its 95 % interval, if it has one."""
        error = error95(word) if self.intervals else None
        return self.signed(word.score) + ("" if error is None else f"{between}{self.error(error)}")


def scale_of(attribution: Attribution) -> Scale:
    """Return the scale of one text."""
    largest = max(map(abs, attribution.responses[0].scores), default=0.0)
    marks = all(note.code != NEGLIGIBLE for note in attribution.own_notes)
    return Scale.of(largest, intervals=has_intervals(attribution), signs=attribution.signed, marks=marks)
