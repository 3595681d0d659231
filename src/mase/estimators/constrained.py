"""Least squares that meets some rows exactly: the regression of Kernel SHAP."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.estimators.least_squares import LeastSquares
from mase.regression.covariance import MOST_CORRELATED, Covariance
from mase.regression.problem import Estimate, Problem

__all__ = ["Constrained"]

_FEW = 2  # coefficients of three words: all their coalitions are hardly more than that


@dataclass(frozen=True, slots=True)
class Constrained:
    """Weighted least squares among the gamma with Z0 gamma = y0, the exact rows of the problem.

    With the rows of `mase.designs.shapley` the exact row is text minus reference, so that the scores sum to F(1) -
    F(0), and the answer is Kernel SHAP (Theorem 2 of Lundberg and Lee 2017): Shapley values where all coalitions are
    asked. Without exact rows it is `LeastSquares`.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance, which has no extent across the exact rows."""
        if problem.exact is None:
            return LeastSquares().fit(problem)
        rows, values = problem.exact
        start: Floats = np.linalg.pinv(rows) @ values
        if problem.p > max(MOST_CORRELATED, problem.n):
            return _projected(problem, start, rows)
        free = _null_space(rows)
        if not free.shape[1]:
            return Estimate(start, np.zeros((problem.p, problem.p)), 0.0)
        reduced = _reduced(problem, start, free)
        tiny = reduced.p <= _FEW and 0 <= reduced.n - reduced.p < 2
        found = _determined(reduced) if tiny else LeastSquares().fit(reduced)
        return Estimate(start + free @ found.gamma, free @ found.covariance @ free.T, found.dof, found.remark)


def _projected(problem: Problem, start: Floats, rows: Floats) -> Estimate:
    """Return the ridge solution of fewer rows than coefficients, about a solution of the exact rows `(m, p)`.

    The regressors are projected off the exact rows: a ridge solution with one deviation lies among the regressors, so
    it keeps to the exact rows without a basis of what they leave free, which would be an array `(p, p)`.
    """
    z = problem.z - (problem.z @ np.linalg.pinv(rows)) @ rows
    even = Covariance(np.full(problem.p, float(problem.covariance.deviations.mean())))
    left = replace(problem, z=z, y=problem.y - problem.z @ start, covariance=even, exact=None)
    found = LeastSquares().fit(left)
    return replace(found, gamma=start + found.gamma)


def _null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis `(p, p - m)` of the directions along which the exact rows `(m, p)` do not change."""
    _, s, vt = np.linalg.svd(rows)
    return np.asarray(vt[int((s > 1e-10 * s.max()).sum()) :].T)


def _reduced(problem: Problem, start: Floats, free: Floats) -> Problem:
    """Return the problem in the coordinates of the null space, about a solution of the exact rows."""
    matrix = free.T @ problem.covariance.matrix() @ free
    distribution = Covariance(np.sqrt(np.diag(matrix)))
    return replace(
        problem,
        z=problem.z @ free,
        y=problem.y - problem.z @ start,
        covariance=distribution,
        gradients=None,
        exact=None,
    )


def _determined(problem: Problem) -> Estimate:
    """Return the solution of hardly more rows than coefficients, which `LeastSquares` leaves to ridge regression.

    Two or three words have no more coalitions than that, and their Shapley values are exact. Of more words so few rows
    are a sample, and its solution would be noise.
    """
    z, y = problem.centred()
    if np.linalg.matrix_rank(z) < problem.p:
        return LeastSquares().fit(problem)
    to_gamma = np.asarray(np.linalg.pinv(z), dtype=np.float64)
    gamma = to_gamma @ y
    spread = to_gamma * (y - z @ gamma)
    remark = (
        None if problem.p == 1 or problem.n > problem.p else "as many rows as coefficients: their errors are unknown"
    )
    return Estimate(gamma, spread @ spread.T, float(problem.p), remark)
