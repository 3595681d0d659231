"""Scrambled Sobol points, mapped to normal deviates by the inverse normal distribution function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from mase.arrays import Floats
from mase.designs.placement import Gaussian, single
from mase.errors import OptionError
from mase.regression.problem import Distribution, Sample

__all__ = ["Sobol"]

# Resolution of scipy's Sobol points, which are multiples of 2**-30.
_BITS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Sobol(Gaussian):
    """The first n of 2^m scrambled Sobol points; they are balanced if n is a power of two.

    Notes
    -----
    The points are not independent. Standard errors assume independence and tend to be too large.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows.

        Raises
        ------
        OptionError
            If there are more coordinates than Sobol sequences have dimensions.
        """
        p = distribution.covariance.size
        if p > qmc.Sobol.MAXDIM:
            raise OptionError(
                f"the text has {p} coordinates, expected at most {qmc.Sobol.MAXDIM} for design='sobol'; use "
                "design='orthogonal'"
            )
        points = qmc.Sobol(p, scramble=True, rng=rng).random_base2(int(np.ceil(np.log2(n))))[:n]
        half = 2.0 ** -(_BITS + 1)  # Clip by half a step, because 0 and 1 map to infinity.
        return single(distribution.covariance.color(ndtri(np.clip(points, half, 1 - half))), distribution)
