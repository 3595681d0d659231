"""Ridge regression with a fixed penalty: the regression of the `lime` package."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.estimators.least_squares import LeastSquares
from mase.regression.covariance import scatter
from mase.regression.estimate import Estimate
from mase.regression.intercepts import on_means
from mase.regression.problem import Problem

__all__ = ["FixedRidge"]


@dataclass(frozen=True, slots=True)
class FixedRidge:
    """Minimise sum_i w_i (y_i - a - z_i.gamma)^2 + alpha |gamma|^2, as `sklearn.linear_model.Ridge` does.

    The penalty is absolute, as in the `lime` package (alpha = 1), so it shrinks less with more rows, and not at all if
    all rows that there are stand for a sample without end.
    """

    alpha: float = 1.0
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha}, expected a finite number > 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its sandwich covariance (HC3), which does not include the bias of the penalty."""
        if problem.unlimited:
            return LeastSquares().fit(problem)
        z, y = problem.centred()
        to_gamma = _to_gamma(z, self.alpha)
        gamma = to_gamma @ y
        leverage = np.einsum("np,pn->n", z, to_gamma)
        on_mean = on_means(problem.weights, problem.groups) if problem.intercept else 0.0
        residuals = (y - z @ gamma) / np.maximum(1 - leverage - on_mean, 1e-6)
        spread = to_gamma * residuals
        return Estimate(gamma, scatter(spread.T), float(leverage.sum()), leverages=leverage)


def _to_gamma(z: Floats, alpha: float) -> Floats:
    """Return (Z'Z + alpha I)^-1 Z' = Z' (ZZ' + alpha I)^-1 `(p, n)`, by solving the smaller of the two systems."""
    n, p = z.shape
    if p <= n:
        return np.asarray(np.linalg.solve(z.T @ z + alpha * np.eye(p), z.T))
    return np.asarray(np.linalg.solve(z @ z.T + alpha * np.eye(n), z).T)
