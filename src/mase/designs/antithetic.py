"""Antithetic pairs: every even-order term of the model cancels."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import Gaussian, mirrored, pair_count
from mase.regression.problem import Distribution, Sample

__all__ = ["Antithetic"]


@dataclass(frozen=True, slots=True, eq=False)
class Antithetic(Gaussian):
    """n/2 independent Gaussian rows z, each with its mirror image -z."""

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        noise = rng.standard_normal((pair_count(n), distribution.covariance.size))
        return mirrored(distribution.covariance.color(noise), distribution)
