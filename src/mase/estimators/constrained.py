"""Least squares that fits some rows exactly: the regression of Kernel SHAP."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.estimators.least_squares import LeastSquares
from mase.regression.covariance import MOST_CORRELATED, Covariance
from mase.regression.decomposition import decomposed
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Constrained"]


@dataclass(frozen=True, slots=True)
class Constrained:
    """Weighted least squares subject to Z0 gamma = y0, the exact rows of the problem.

    With the rows of `mase.designs.shapley` the exact row is text minus reference, so the scores sum to F(1) - F(0). The
    solution is then Kernel SHAP (Theorem 2 of Lundberg and Lee 2017), and equals the Shapley values if all coalitions
    are evaluated. Without exact rows it is `LeastSquares`.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its HC3 covariance, which is zero in the direction of the exact rows."""
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
        fitted = LeastSquares().fit(reduced)
        of_noise = None if fitted.of_noise is None else free @ fitted.of_noise @ free.T
        gamma, covariance = start + free @ fitted.gamma, free @ fitted.covariance @ free.T
        return replace(fitted, gamma=gamma, covariance=covariance, of_noise=of_noise)


def _projected(problem: Problem, start: Floats, rows: Floats) -> Estimate:
    """Return the ridge solution with fewer rows than coefficients, relative to a solution of the exact rows `(m, p)`.

    The regressors are projected onto the null space of the exact rows. With equal standard deviations, the ridge
    solution lies in the span of the regressors, so it satisfies the exact rows. This avoids a basis of the null space,
    which would be an array `(p, p)`.
    """
    z = problem.z - (problem.z @ np.linalg.pinv(rows)) @ rows
    equal = Covariance(np.full(problem.p, float(problem.covariance.deviations.mean())))
    projected = replace(problem, z=z, y=problem.y - problem.z @ start, covariance=equal, exact=None)
    fitted = LeastSquares().fit(projected)
    return replace(fitted, gamma=start + fitted.gamma)


def _null_space(rows: Floats) -> Floats:
    """Return an orthonormal basis `(p, p - m)` of the null space of the exact rows `(m, p)`."""
    _, s, vt = decomposed(rows, whole=True)
    return np.asarray(vt[int((s > 1e-10 * s.max()).sum()) :].T)


def _reduced(problem: Problem, start: Floats, free: Floats) -> Problem:
    """Return the problem in the coordinates of the null space, relative to a solution of the exact rows."""
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
