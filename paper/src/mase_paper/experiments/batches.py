"""Batches of texts, as in the paper: 1,000 at a time, mean and standard deviation over the batches."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from mase.arrays import Bools
from mase.statistics import Summary, summary_of_share
from mase_paper.experiments.experiment import BATCH_SIZE

__all__ = ["Batches", "batches", "share"]


@dataclass(frozen=True, slots=True)
class Batches:
    """Indices of the texts of each batch, and whether the texts were drawn with replacement."""

    members: tuple[tuple[int, ...], ...]
    resampled: bool

    def describe(self) -> str:
        """Return a clause that describes the batches."""
        if not self.resampled:
            return f"{len(self.members)} batches of {BATCH_SIZE:,} different texts"
        return f"{len(self.members)} batches of {BATCH_SIZE:,} texts, drawn with replacement from those explained"


@cache
def batches(n_texts: int, n_batches: int) -> Batches:
    """Return the batches of the first `n_texts` texts: consecutive if there are enough texts, else with replacement.

    In both cases the standard deviation over the batches is that of a batch of 1,000 new texts. The uncertainty of the
    mean is given by its interval, which counts each text once.

    Examples
    --------
    >>> batches(10_000, 10).members[9][:2], batches(1_963, 10).resampled
    ((9000, 9001), True)
    """
    if n_texts >= n_batches * BATCH_SIZE:
        starts = range(0, n_batches * BATCH_SIZE, BATCH_SIZE)
        return Batches(tuple(tuple(range(start, start + BATCH_SIZE)) for start in starts), resampled=False)
    drawn = np.random.default_rng((n_texts, n_batches)).integers(n_texts, size=(n_batches, BATCH_SIZE))
    return Batches(tuple(map(tuple, drawn.tolist())), resampled=True)


def share(flips: Bools, n_batches: int) -> Summary:
    """Return the share of texts whose prediction flipped `(n,)`: Delta Accuracy, with its interval and batches."""
    return summary_of_share(flips, batches(len(flips), n_batches).members)
