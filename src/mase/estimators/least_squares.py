"""Weighted least squares with an intercept: Theorem 1's estimand without the noise of the sample's own moments."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from mase.arrays import Floats
from mase.estimators.ridge import Ridge
from mase.sample import Estimate, Problem

__all__ = ["LeastSquares"]

# Below this ratio of R's smallest to largest diagonal entry a design counts as rank deficient.
_RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Ordinary or weighted least squares with heteroscedasticity-consistent (HC3) covariance.

    Exactly unbiased for a model linear in the coordinates; consistent for Theorem 1's estimand in general. With fewer
    rows than it can be solved from, ridge regression answers instead and the estimate's remark says so.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance (MacKinnon and White 1985), rows as independent units."""
        free = problem.n - problem.p - int(problem.intercept)
        if free < 2:
            return _ridge(problem, f"{problem.n} independent rows cannot determine {problem.p} coefficients")
        z, y = problem.centred()
        q, r = np.linalg.qr(z)
        diagonal = np.abs(np.diag(r))
        if diagonal.min() <= _RANK_TOLERANCE * diagonal.max():
            return _ridge(problem, "the design does not tell all coordinates apart")
        gamma = solve_triangular(r, q.T @ y)
        residuals = _jackknifed(y - z @ gamma, q, problem)
        spread = solve_triangular(r, (q * residuals[:, None]).T)
        return Estimate(gamma, spread @ spread.T, float(problem.p))


def _jackknifed(residuals: Floats, q: Floats, problem: Problem) -> Floats:
    """Return residuals divided by 1 - leverage."""
    leverage = (q * q).sum(axis=1)
    if problem.intercept:
        leverage = leverage + problem.weights / problem.weights.sum()
    return np.asarray(residuals / np.maximum(1 - leverage, 1e-12))


def _ridge(problem: Problem, why: str) -> Estimate:
    estimate = Ridge().fit(problem)
    return Estimate(estimate.gamma, estimate.covariance, estimate.dof, f"{why}: ridge regression was used")
