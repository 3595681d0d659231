"""The text itself and nothing else: the row of gradient x input."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["TextOnly"]


@dataclass(frozen=True, slots=True)
class TextOnly:
    """One row, c = 1, whatever n is: the limit of every NLGP as sigma goes to 0, for estimators that work on gradients."""

    rounds: ClassVar[int] = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return a nominal distribution of unit covariance: nothing is drawn."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.ones(p)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the one row."""
        del rng, n
        p = distribution.covariance.size
        row, still = np.ones((1, p)), np.zeros((1, p))
        return Sample(row, still, np.ones(1), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)
