"""The mapping between coordinates, tokens and words."""

import numpy as np

from mase.arrays import Ints
from mase.text import Words

__all__ = ["coordinates", "members"]


def coordinates(words: Words, *, per_token: bool) -> Ints:
    """Return the coordinate of each token `(t,)`, -1 for fixed tokens and tokens outside words.

    The tokens of a word share a coordinate, unless `per_token` gives each token its own.
    """
    of_word = np.array(words.of_token, dtype=np.int64)
    if not per_token:
        return of_word
    free = of_word >= 0
    return np.where(free, np.cumsum(free) - 1, -1)


def members(words: Words, of_token: Ints) -> list[Ints]:
    """Return the coordinates of each word in ascending order, given the coordinates of the tokens `(t,)`."""
    groups: list[set[int]] = [set() for _ in words.spans]
    for word, coordinate in zip(words.of_token, of_token.tolist(), strict=True):
        if coordinate >= 0:
            groups[word].add(coordinate)
    return [np.array(sorted(group), dtype=np.int64) for group in groups]
