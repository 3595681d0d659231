"""Where the windows of a long text begin and end."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

from mase.text import Span

__all__ = ["begins_sentence", "cuts"]

# Whether units `first` to `last - 1` fit into a window.
Fits = Callable[[int, int], bool]

# The end of a sentence or of a line, at the end of what lies before the next unit.
_ENDS = re.compile(r"[.!?…][\"'”’»)\]]*\s+\Z|[。！？][」』”’）]*\s*\Z|\n\s*\Z")
_FIRST_GUESS = 64


def cuts(n: int, fits: Fits, begins: Sequence[bool], overlap: float) -> list[Span]:
    """Return the windows over n units, each as the indices of its first unit and of the one after its last.

    A window is as long as it fits, and at least one unit. It ends where a sentence ends, if one ends in its second
    half, and the next one begins where a sentence begins, if possible. The last one begins as early as it fits.

    Parameters
    ----------
    n
        Number of units.
    fits
        Whether units `first` to `last - 1` fit into a window.
    begins
        For each unit, whether a sentence begins with it.
    overlap
        Share of the units of a window that the next one also has, from 0 to below 1, rounded to whole units. It has
        more if that is what it takes to begin with a sentence, and none if nothing new would fit behind them.

    Examples
    --------
    >>> cuts(10, lambda first, last: last - first <= 4, [True] * 10, 0.25)
    [(0, 4), (3, 7), (6, 10)]
    """
    windows: list[Span] = []
    first, size = 0, min(_FIRST_GUESS, n)
    while True:
        last = _longest(first, n, fits, size)
        done = windows[-1][1] if windows else 0
        if last <= done:  # nothing new fits behind what overlaps
            first = done
            continue
        if last == n:
            return [*windows, (_first_sentence(_earliest(n, first, fits), first, begins), n)]
        size = last - first
        last = _last_sentence(max(done, last - size // 2 - 1), last, begins)
        windows.append((first, last))
        first = _last_sentence(first, max(last - round(overlap * (last - first)), first + 1), begins)


def begins_sentence(text: str, units: Sequence[Span]) -> list[bool]:
    """Return for each unit of a text whether it is the first, or what is before it ends with a sentence or a line."""
    before = [text[start:following] for (start, _), (following, _) in pairwise(units)]
    return [True, *(_ENDS.search(part) is not None for part in before)][: len(units)]


def _longest(first: int, n: int, fits: Fits, guess: int) -> int:
    """Return the largest index up to which the units from `first` on fit, at least `first` + 1."""
    high = first + guess
    while high < n and fits(first, high):
        high = first + 2 * (high - first)
    rest = range(first + 2, min(high, n) + 1)
    return first + 1 + bisect_left(rest, True, key=lambda last: not fits(first, last))


def _earliest(n: int, first: int, fits: Fits) -> int:
    """Return the smallest index from which all units to the end fit; the units from `first` on do."""
    return bisect_left(range(first), True, key=lambda earlier: fits(earlier, n))


def _last_sentence(low: int, high: int, begins: Sequence[bool]) -> int:
    """Return the last index in (`low`, `high`] with which a sentence begins; `high` if there is none."""
    return next((index for index in range(high, low, -1) if begins[index]), high)


def _first_sentence(low: int, high: int, begins: Sequence[bool]) -> int:
    """Return the first index in [`low`, `high`] with which a sentence begins; `low` if there is none."""
    return next((index for index in range(low, high + 1) if begins[index]), low)
