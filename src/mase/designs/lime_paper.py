"""LIME as defined in the MASE paper: Bernoulli rows with larger weights for texts closer to the input."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import every_row, proximity, subsets
from mase.errors import OptionError
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["LimePaper"]


@dataclass(frozen=True, slots=True)
class LimePaper:
    """Bernoulli rows (mask rate 1/2) with weights pi = exp(-D^2 / width^2), D the cosine distance to the text.

    Proposition "LIME" gives no value for the width. 0.25 is the value of the `lime` package (25 in its units).
    """

    width: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise OptionError(f"width is {self.width}, expected a finite number > 0")

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the Bernoulli distribution with mask rate 1/2."""
        p = np.count_nonzero(scale)
        return Distribution(0.5, Covariance(np.full(p, 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        kept = rng.integers(0, 2, size=(n, distribution.covariance.size)).astype(np.float64)
        weights = self._weights(kept)
        return Sample(kept, kept - distribution.center, weights, False, distribution.center, distribution.covariance)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows, which are equally probable, with their weights."""
        kept = subsets(distribution.covariance.size)
        return every_row(kept, self._weights(kept), distribution)

    def _weights(self, kept: Floats) -> Floats:
        """Return the kernel weights `(n,)` of rows `(n, p)`."""
        return proximity(1 - np.sqrt(kept.mean(axis=1)), self.width)
