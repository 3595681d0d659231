"""Upper bounds by search: mask words one after the other, guided by the masked prediction itself.

A search is not an explainer, because it optimizes the metric directly. The pages report each method's Delta Accuracy as
a share of that of a search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mase.arrays import Bools
from mase.metrics.curves import steps
from mase.metrics.masking import Masker

__all__ = ["UPPER_BOUNDS", "Search", "search"]

# Names of the searches, and the number of word sets that each keeps at every step (the width of its beam).
UPPER_BOUNDS: Mapping[str, int] = {"greedy": 1, "beam": 5}


@dataclass(frozen=True, slots=True)
class Search:
    """The words that a search masked, in order; whether the prediction changed; and the number of evaluated rows."""

    order: tuple[int, ...]
    flipped: bool
    n_queries: int

    def flips(self, depth: int) -> Bools:
        """Return `(depth,)`: whether the prediction changes when the first 1, 2, ... words are masked."""
        return self.flipped & (np.arange(1, depth + 1) >= len(self.order))


def search(masker: Masker, target: int, depth: int, width: int) -> Search:
    """Return the smallest set found, of at most `depth` words, whose masking changes the prediction from `target`.

    Each step extends the `width` sets with the lowest probability of the target by every remaining word. The search
    ends with the first set that changes the prediction.
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
