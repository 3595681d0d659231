"""Gaussian rows whose sample mean is exactly 0 and whose Gram matrix is exactly Sigma."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import Gaussian, single
from mase.errors import TooFewSamplesError
from mase.regression.problem import Distribution, Sample

__all__ = ["MomentMatched"]


@dataclass(frozen=True, slots=True)
class MomentMatched(Gaussian):
    """n Gaussian rows, centred and whitened by their own moments, then coloured by Sigma.

    On these Theorem 1's formula equals least squares with an intercept, to rounding, for any n > p. The rows are
    matched as a whole: a stopping rule asks all of them.

    Notes
    -----
    The standard errors of `Moment` take rows to be independent and are several times too large on these.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows.

        Raises
        ------
        TooFewSamplesError
            If n <= p: fewer rows cannot have the Gram matrix Sigma.
        """
        p = distribution.covariance.size
        if n <= p:
            raise TooFewSamplesError(
                f"n_samples is {n}, expected more than the {p} coordinates for a moment-matched design"
            )
        noise = rng.standard_normal((n, p))
        noise -= noise.mean(axis=0)
        factor = np.linalg.cholesky(noise.T @ noise / n)
        return replace(
            single(distribution.covariance.color(np.linalg.solve(factor, noise.T).T), distribution), divisible=False
        )
