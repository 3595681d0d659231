"""Independent Gaussian rows: the paper's Algorithm 1."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import Gaussian, single
from mase.regression.problem import Distribution, Sample

__all__ = ["Iid"]


@dataclass(frozen=True, slots=True, eq=False)
class Iid(Gaussian):
    """n independent rows c ~ N(center, Sigma) (Definition NLGP)."""

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        return single(
            distribution.covariance.color(rng.standard_normal((n, distribution.covariance.size))), distribution
        )
