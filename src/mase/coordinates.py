"""Which coordinate moves which token, and which coordinates make up a word."""

import numpy as np

from mase.arrays import Ints
from mase.text import Words

__all__ = ["coordinates", "members"]


def coordinates(words: Words, *, per_token: bool) -> Ints:
    """Return the coordinate of each token `(t,)`, -1 for fixed tokens and tokens of no word.

    The tokens of a word share one unless `per_token` gives each its own.
    """
    of_word = np.array(words.of_token, dtype=np.int64)
    if not per_token:
        return of_word
    free = of_word >= 0
    return np.where(free, np.cumsum(free) - 1, -1)


def members(words: Words, of_token: Ints) -> list[Ints]:
    """Return the coordinates of each word, ascending, given those of the tokens `(t,)`."""
    found: list[set[int]] = [set() for _ in words.spans]
    for word, coordinate in zip(words.of_token, of_token.tolist(), strict=True):
        if coordinate >= 0:
            found[word].add(coordinate)
    return [np.array(sorted(one), dtype=np.int64) for one in found]
