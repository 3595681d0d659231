"""Weighted least squares with an intercept: the estimand of Theorem 1 without the noise of the sample moments."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg.lapack import dpotrs, dtrtri

from mase.arrays import Floats
from mase.estimators.ridge import Ridge
from mase.regression.covariance import MOST_CORRELATED, scatter
from mase.regression.estimate import Estimate
from mase.regression.intercepts import on_means
from mase.regression.problem import Problem

__all__ = ["LeastSquares"]

# A coordinate is linearly dependent if the part of its norm that the others do not span is below this share.
_RANK_TOLERANCE = 1e-6
# Least squares ranks words worse than ridge regression if n - p is below this multiple of p.
_MIN_RESIDUAL_DOF = 0.5


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Ordinary or weighted least squares with heteroscedasticity-consistent (HC3) covariance.

    It is unbiased for a model that is linear in the coordinates, and consistent for the estimand of Theorem 1 in
    general. Its variance grows without bound as the number of rows decreases to the number of coefficients p. With
    fewer than p / 2 rows beyond p, ridge regression is used instead, and the `fallback` of the estimate says so. This
    does not apply to all rows that there are, whose coefficients have no variance.

    Rows that every draw has, as all coalitions of one word in Kernel SHAP, are part of the fit and not of its variance.

    Notes
    -----
    The normal equations are solved with one step of refinement, which recovers the digits lost in forming z'z
    (corrected seminormal equations, Bjorck 1987). This takes a tenth of the time of a Householder QR.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance (MacKinnon and White 1985), with rows as independent units."""
        if _too_few(problem):
            return _ridge(problem, f"{problem.n} independent samples are too few for {problem.p} coefficients")
        z, y = problem.centred()
        lower = _factor(z.T @ z)
        if lower is None:
            return _ridge(problem, "the samples cannot separate the effects of all words")
        gamma = _solved(lower, z, y)
        root = dtrtri(lower, lower=True)[0].T
        residuals, q = y - z @ gamma, z @ root
        leverages = np.einsum("np,np->n", q, q)
        of_noise = None
        if problem.unlimited and problem.p <= MOST_CORRELATED:
            of_noise = root @ ((q * problem.weights[:, None]).T @ q) @ root.T
        q *= _jackknifed(residuals, leverages, problem)[:, None]
        covariance = root @ (q.T @ q) @ root.T if problem.p <= MOST_CORRELATED else scatter(q @ root.T)
        return Estimate(gamma, covariance, float(problem.p), leverages=leverages, of_noise=of_noise)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` without its covariance."""
        if not _too_few(problem):
            z, y = problem.centred()
            lower = _factor(z.T @ z)
            if lower is not None:
                return _solved(lower, z, y)
        return Ridge().solve(problem)


def _jackknifed(residuals: Floats, leverages: Floats, problem: Problem) -> Floats:
    """Return residuals divided by 1 - leverage, and 0 for rows that every draw has."""
    if problem.intercept:
        leverages = leverages + on_means(problem.weights, problem.groups)
    drawn = np.arange(problem.n) >= problem.n_certain
    return np.asarray(drawn * residuals / np.maximum(1 - leverages, 1e-12))


def _too_few(problem: Problem) -> bool:
    """Return whether there are too few residual degrees of freedom for least squares."""
    residual_dof = problem.n - problem.p - problem.n_intercepts
    return not problem.unlimited and residual_dof < max(2, _MIN_RESIDUAL_DOF * problem.p)


def _factor(gram: Floats) -> Floats | None:
    """Return the Cholesky factor L `(p, p)` of z'z = LL'; None if z'z is rank deficient."""
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    determined = np.diag(lower) > _RANK_TOLERANCE * np.sqrt(np.diag(gram))
    return np.asarray(lower) if determined.all() else None


def _solved(lower: Floats, z: Floats, y: Floats) -> Floats:
    """Return (z'z)^-1 z'y from the Cholesky factor of z'z, with one step of iterative refinement."""
    gamma, _ = dpotrs(lower, z.T @ y, lower=True)
    step, _ = dpotrs(lower, z.T @ (y - z @ gamma), lower=True)
    return np.asarray(gamma + step)


def _ridge(problem: Problem, reason: str) -> Estimate:
    estimate = Ridge().fit(problem)
    fallback = f"{reason}: ridge regression was used; use a larger n_samples"
    return replace(estimate, fallback=fallback)
