"""Independent masks: each word of each row is kept with the same probability."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import coins, every_row, single, subsets
from mase.errors import OptionError
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["Independent"]


@dataclass(frozen=True, slots=True)
class Independent:
    """Independent rows, in which each word is kept with probability `p_keep`.

    1/2 gives the rows of ContextCite (Cohen-Wang et al., arXiv 2409.00729). 1 / (1 + exp(-1 / sigma^2)) gives those of
    GLIME-Binomial with the kernel width sigma (Tan et al., arXiv 2311.15722): LIME's kernel
    exp(-(number of masked words) / sigma^2) is the probability of a row, and no longer its weight.
    """

    p_keep: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.p_keep < 1:
            raise OptionError(f"p_keep is {self.p_keep}, expected a number between 0 and 1")

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of independent words."""
        spread = (self.p_keep * (1 - self.p_keep)) ** 0.5
        return Distribution(self.p_keep, Covariance(np.full(np.count_nonzero(scale), spread)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        kept = (rng.random((n, distribution.covariance.size)) < self.p_keep).astype(np.float64)
        return coins(single(kept - distribution.center, distribution), self.p_keep)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows with their probabilities."""
        kept = subsets(distribution.covariance.size)
        probabilities = np.where(kept == 1, self.p_keep, 1 - self.p_keep).prod(axis=1)
        return coins(every_row(kept, probabilities, distribution), self.p_keep)
