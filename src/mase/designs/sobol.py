"""Scrambled Sobol points through the inverse normal distribution function."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from mase.arrays import Floats
from mase.designs.placement import Gaussian, single
from mase.errors import OptionError
from mase.regression.problem import Distribution, Sample

__all__ = ["Sobol"]

_BITS = 30  # of scipy's points


@dataclass(frozen=True, slots=True)
class Sobol(Gaussian):
    """The first n of 2^m scrambled Sobol points; balanced best when n is a power of two.

    Notes
    -----
    The points are not independent: standard errors, which assume that they are, tend to be too large.
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
                f"{p} coordinates, but Sobol points have at most {qmc.Sobol.MAXDIM}; use design='orthogonal'"
            )
        points = qmc.Sobol(p, scramble=True, rng=rng).random_base2(int(np.ceil(np.log2(n))))[:n]
        half = 2.0 ** -(_BITS + 1)  # the points are multiples of 2**-_BITS, and 0 would be infinitely far
        return single(distribution.covariance.color(ndtri(np.clip(points, half, 1 - half))), distribution)
