"""The text itself as the only row: the design of gradient x input."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["TextOnly"]


@dataclass(frozen=True, slots=True)
class TextOnly:
    """A single row, c = 1, for estimators that use gradients: the limit of NLGP as sigma goes to 0."""

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return a nominal distribution with unit covariance; nothing is drawn from it."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.ones(p)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the single row."""
        del rng, n
        p = distribution.covariance.size
        row, deviation = np.ones((1, p)), np.zeros((1, p))
        return Sample(row, deviation, np.ones(1), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)
