"""The Bernoulli design: each word is kept (1) or masked (0) with probability 1/2."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import coins, mirrored, pair_count, subsets
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["Bernoulli"]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Bernoulli rows (mask rate 1/2), each with its complement: c and 1 - c are mirror images about 1/2."""

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the Bernoulli distribution with mask rate 1/2."""
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        kept = rng.integers(0, 2, size=(pair_count(n), distribution.covariance.size)).astype(np.float64)
        return coins(mirrored(kept - 0.5, distribution))

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows in pairs, equally weighted."""
        kept = subsets(distribution.covariance.size)
        pairs = coins(mirrored(kept[: len(kept) // 2] - 0.5, distribution))
        return replace(pairs, divisible=False, exhaustive=True)
