"""The text itself and nothing else: the row of gradient x input."""

from dataclasses import dataclass

import numpy as np

from mase.regression.covariance import Covariance
from mase.regression.problem import Law, Sample

__all__ = ["TextOnly"]


@dataclass(frozen=True, slots=True)
class TextOnly:
    """One row, c = 1, whatever n is: the limit of every NLGP as sigma goes to 0, for estimators that work on gradients."""

    def law(self, p: int) -> Law:
        """Return a nominal law of unit covariance: nothing is drawn."""
        return Law(1.0, Covariance(np.ones(p)))

    def draw(self, rng: np.random.Generator, n: int, law: Law) -> Sample:
        """Return the one row."""
        del rng, n
        p = law.covariance.size
        row, still = np.ones((1, p)), np.zeros((1, p))
        return Sample(row, still, np.ones(1), False, 1.0, law.covariance, divisible=False, exhaustive=True)
