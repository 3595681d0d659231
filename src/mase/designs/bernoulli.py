"""The two-point law: each word is kept (1) or taken out (0). The law of LIME and of every black box."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import mirrored, pair_count
from mase.regression.covariance import Covariance
from mase.regression.problem import Law, Sample

__all__ = ["Bernoulli"]


@dataclass(frozen=True, slots=True)
class Bernoulli:
    """Fair coins, each row with its complement: c and 1 - c are mirror images about 1/2."""

    rounds: ClassVar[int] = 1

    def law(self, widths: Floats) -> Law:
        """Return the law of fair coins."""
        return Law(0.5, Covariance(np.full(np.count_nonzero(widths), 0.5)))

    def draw(self, rng: np.random.Generator, n: int, law: Law, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        coins = rng.integers(0, 2, size=(pair_count(n), law.covariance.size)).astype(np.float64) - 0.5
        return mirrored(coins, law)
