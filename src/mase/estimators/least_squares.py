"""Weighted least squares with an intercept: Theorem 1's estimand without the noise of the sample's own moments."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtri

from mase.arrays import Floats
from mase.estimators.ridge import Ridge
from mase.regression.covariance import MOST_CORRELATED, scatter
from mase.regression.problem import Estimate, Problem

__all__ = ["LeastSquares"]

# A coordinate of which less than this share (a norm) is left once the others are taken out counts as one of them.
_RANK_TOLERANCE = 1e-6
# Rows beyond the coefficients, as a share of these, below which least squares ranks worse than ridge regression.
_SPARE = 0.5


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Ordinary or weighted least squares with heteroscedasticity-consistent (HC3) covariance.

    Exactly unbiased for a model linear in the coordinates; consistent for Theorem 1's estimand in general. Its variance
    grows without bound as the rows come down to the number of coefficients p: with fewer than p / 2 rows beyond that,
    ridge regression answers instead and the estimate's remark says so.

    Notes
    -----
    Solved from the normal equations with one step of refinement, which gives back the digits that forming z'z loses
    (corrected seminormal equations, Bjorck 1987): a tenth of the time of Householder's QR.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance (MacKinnon and White 1985), rows as independent units."""
        if _too_few(problem):
            return _ridge(problem, f"{problem.n} independent rows are too few for {problem.p} coefficients")
        z, y = problem.centred()
        lower = _factor(z.T @ z)
        if lower is None:
            return _ridge(problem, "the design does not tell all coordinates apart")
        gamma = _solved(lower, z, y)
        root = dtrtri(lower, lower=True)[0].T
        residuals, q = y - z @ gamma, z @ root
        q *= _jackknifed(residuals, q, problem)[:, None]
        covariance = root @ (q.T @ q) @ root.T if problem.p <= MOST_CORRELATED else scatter(q @ root.T)
        return Estimate(gamma, covariance, float(problem.p))

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` alone."""
        if not _too_few(problem):
            z, y = problem.centred()
            lower = _factor(z.T @ z)
            if lower is not None:
                return _solved(lower, z, y)
        return Ridge().solve(problem)


def _too_few(problem: Problem) -> bool:
    """Return whether the rows beyond the numbers to determine are fewer than these determine well."""
    free = problem.n - problem.p - int(problem.intercept)
    return free < max(2, _SPARE * problem.p)


def _factor(gram: Floats) -> Floats | None:
    """Return the Cholesky factor L `(p, p)` of z'z = LL'; None if the rank is too low for it."""
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    determined = np.diag(lower) > _RANK_TOLERANCE * np.sqrt(np.diag(gram))
    return np.asarray(lower) if determined.all() else None


def _solved(lower: Floats, z: Floats, y: Floats) -> Floats:
    """Return (z'z)^-1 z'y, refined once, from the Cholesky factor of z'z."""
    gamma, _ = dpotrs(lower, z.T @ y, lower=True)
    step, _ = dpotrs(lower, z.T @ (y - z @ gamma), lower=True)
    return np.asarray(gamma + step)


def _jackknifed(residuals: Floats, q: Floats, problem: Problem) -> Floats:
    """Return residuals divided by 1 - leverage."""
    leverage = np.einsum("np,np->n", q, q)
    if problem.intercept:
        leverage = leverage + problem.weights / problem.weights.sum()
    return np.asarray(residuals / np.maximum(1 - leverage, 1e-12))


def _ridge(problem: Problem, why: str) -> Estimate:
    estimate = Ridge().fit(problem)
    return Estimate(estimate.gamma, estimate.covariance, estimate.dof, f"{why}: ridge regression was used")
