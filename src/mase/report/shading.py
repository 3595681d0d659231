"""Words of one text with their shades and numbers, in a compact form that the page of the report reads."""

import math
from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats, Ints
from mase.render.palette import SHADES, Z95, Scale

__all__ = ["Shading", "shading"]

# Numbers of a word: start and length in characters, score, half the width of the 95 % interval (-1: none), and shade.
_COLUMNS = 5
_LARGEST, _LARGEST_ERROR = 10**15, 1e300  # the first is one that JavaScript holds exactly


@dataclass(frozen=True, slots=True)
class Shading:
    """The w words of a text.

    Attributes
    ----------
    words
        Integers `(w, 5)`: start and length in characters; score and half the width of its 95 % interval (-1 if it has
        none) in multiples of `unit`; shade (0 if the word is not marked, 1 to 6 by strength, 7 to 12 if the interval
        includes 0).
    unit
        The value of the last digit that is kept.
    decimals
        Decimals of scores; None if they are shown with an exponent.
    signs
        Whether a sign means something; if not, no number has a plus.
    """

    words: Ints
    unit: float
    decimals: int | None
    signs: bool = True

    @property
    def scale(self) -> Scale:
        """The scale of the text, by which its scores are formatted."""
        return Scale(0.0, self.decimals, not len(self.words) or bool(np.any(self.words[:, 3] >= 0)), self.signs)

    def packed(self) -> str:
        """Return the integers of all words, separated by spaces."""
        return " ".join(map(str, self.words.ravel().tolist()))


def shading(text: str, starts: Ints, ends: Ints, scores: Floats, errors: Floats, *, signs: bool = True) -> Shading:
    """Return the shades of w words of a text.

    Parameters
    ----------
    text
        The text.
    starts, ends
        Spans of the words in the text `(w,)`. What lies outside is left out; if two words overlap, the second starts
        where the first ends.
    scores, errors
        Scores and standard errors `(w,)`; the error is NaN if a score is not an estimate. If all errors are 0, the
        scores are exact and have no interval.
    signs
        Whether a sign of the scores means something.
    """
    order = np.argsort(starts, kind="stable")
    ends = np.minimum(ends[order], len(text))
    covered = np.concatenate([[0], np.maximum.accumulate(ends)[:-1]]) if len(ends) else ends
    starts = np.maximum(starts[order], covered)
    kept = starts < ends
    starts, ends = starts[kept], ends[kept]
    scores = np.nan_to_num(scores[order][kept], posinf=0.0, neginf=0.0)
    errors = Z95 * np.minimum(errors[order][kept], _LARGEST_ERROR)
    errors = errors if np.any(errors > 0) else np.full_like(errors, np.nan)
    maximum = float(np.abs(scores).max(initial=0.0))
    scale = Scale.of(maximum)
    unit = _last_digit(maximum, scale)
    shades = scale.levels(scores, len(SHADES))
    insignificant = ~np.isnan(errors) & (np.abs(scores) <= errors)
    widths = np.minimum(np.ceil(errors / unit - 1e-9), _LARGEST)
    words = np.stack(
        [
            starts,
            ends - starts,
            np.rint(scores / unit).astype(np.int64),
            np.nan_to_num(widths, nan=-1.0).astype(np.int64),
            shades + len(SHADES) * (insignificant & (shades > 0)),
        ],
        axis=1,
    )
    assert words.shape[1] == _COLUMNS
    return Shading(words, unit, scale.decimals, signs)


def _last_digit(maximum: float, scale: Scale) -> float:
    """Return the value of the last digit that is kept; with an exponent, more than are shown, for small errors."""
    if scale.decimals is not None:
        return 10.0**-scale.decimals
    return 10.0 ** max(-300, math.floor(math.log10(maximum)) - 5)
