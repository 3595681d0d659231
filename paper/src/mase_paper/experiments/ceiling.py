"""How far any ranking could get: words taken out one after the other by looking at the masked prediction itself.

No explainer: it searches over the metric. Its Delta Accuracy is the ceiling that a method's share is measured against.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mase.arrays import Bools, Floats
from mase.metrics.masking import Masker

__all__ = ["CEILINGS", "Search", "search"]

# Name of a ceiling and the number of sets of words that its search keeps at each step.
CEILINGS: Mapping[str, int] = {"greedy": 1, "beam": 5}


@dataclass(frozen=True, slots=True)
class Search:
    """The words that a search took out, in order, whether that changed the prediction, and how many rows it asked."""

    order: tuple[int, ...]
    flipped: bool
    n_queries: int

    def flips(self, depth: int) -> Bools:
        """Return `(depth,)`: whether the prediction changes without the first 1, 2, ... words."""
        return self.flipped & (np.arange(1, depth + 1) >= len(self.order))


def search(masker: Masker, target: int, depth: int, width: int) -> Search:
    """Return the fewest words found, at most `depth`, without which the model no longer predicts `target`.

    At each step every remaining word is tried on top of each of the `width` sets with the lowest probability of the
    target; the search ends with the first set that changes the prediction.
    """
    n_words, asked = len(masker.words), 0
    beams: list[tuple[int, ...]] = [()]
    for _ in range(min(depth, n_words)):
        longer = _distinct([(*taken, word) for taken in beams for word in range(n_words) if word not in taken])
        chance = _without(masker, longer)
        asked += len(longer)
        changed = np.flatnonzero(masker.flipped(chance, target))
        if len(changed):
            return Search(longer[int(changed[chance[changed, target].argmin()])], True, asked)
        beams = [longer[index] for index in np.argsort(chance[:, target], kind="stable")[:width]]
    return Search(beams[0], False, asked)


def _distinct(orders: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the orders without those that take out the same words as an earlier one."""
    return list({frozenset(taken): taken for taken in reversed(orders)}.values())[::-1]


def _without(masker: Masker, orders: list[tuple[int, ...]]) -> Floats:
    kept: Bools = np.ones((len(orders), len(masker.words)), dtype=np.bool_)
    for row, taken in zip(kept, orders, strict=True):
        row[list(taken)] = False
    return masker.probabilities(kept)
