"""Gaussian rows with sample mean exactly 0 and second moments exactly Sigma."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import Gaussian, single
from mase.errors import TooFewSamplesError
from mase.regression.problem import Distribution, Sample

__all__ = ["MomentMatched"]


@dataclass(frozen=True, slots=True, eq=False)
class MomentMatched(Gaussian):
    """n Gaussian rows, centred and whitened by their sample moments, then coloured by Sigma.

    On these rows, the formula of Theorem 1 equals least squares with an intercept, up to rounding, for any n > p. Only
    the complete sample has these moments, so a stopping rule cannot stop early.

    Notes
    -----
    The standard errors of `Moment` assume independent rows and are several times too large on these.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows.

        Raises
        ------
        TooFewSamplesError
            If n <= p: so few rows cannot have second moments Sigma.
        """
        p = distribution.covariance.size
        if n <= p:
            raise TooFewSamplesError(
                f"n_samples leaves {n} for the scores, expected more than {p}, the number of coordinates, for "
                "design='moment-matched'; use a larger n_samples"
            )
        noise = rng.standard_normal((n, p))
        noise -= noise.mean(axis=0)
        factor = np.linalg.cholesky(noise.T @ noise / n)
        return replace(
            single(distribution.covariance.color(np.linalg.solve(factor, noise.T).T), distribution), divisible=False
        )
