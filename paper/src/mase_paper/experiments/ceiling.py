"""How far any ranking could get: words taken out one after the other by looking at the masked prediction itself.

No explainer: it searches over the metric. Its Delta Accuracy is the ceiling that a method's share is measured against.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mase.arrays import Bools
from mase.metrics.masking import Masker
from mase.metrics.search import steps

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
    order: tuple[int, ...] = ()
    n_queries = 0
    for step in islice(steps(masker, target, beam=width, goal="end"), depth):
        n_queries += len(step.orders)
        changed = np.flatnonzero(masker.flipped(step.probabilities, target))
        order = tuple(step.orders[changed[0] if len(changed) else 0].tolist())
        if len(changed):
            return Search(order, True, n_queries)
    return Search(order, False, n_queries)
