"""The two-point distribution: each word is kept (1) or taken out (0). The distribution of LIME and of every black box."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import mirrored, pair_count
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["Bernoulli"]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Fair coins, each row with its complement: c and 1 - c are mirror images about 1/2."""

    rounds: ClassVar[int] = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of fair coins."""
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        coins = rng.integers(0, 2, size=(pair_count(n), distribution.covariance.size)).astype(np.float64) - 0.5
        return mirrored(coins, distribution)
