"""Lasso with a fixed penalty on standardised coordinates: the regression of ContextCite."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.estimators.gram import Gram
from mase.estimators.lasso import jackknifed, solve_lasso
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["PenalisedLasso"]

# Correlations below this share of the largest centred response are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PenalisedLasso:
    """Minimise mean (y - a - z.gamma)^2 / 2 + alpha sum_j s_j |gamma_j|, s_j the deviation of coordinate j in the rows.

    This is `sklearn.linear_model.Lasso` after a `StandardScaler`, as in the package `context-cite`, whose alpha is .01.
    `alpha` is absolute, in units of the response, and stays the same however many rows there are.

    Notes
    -----
    The solver is that of `mase.estimators.lasso`, stopped where the correlations reach alpha. The covariance is the
    same jackknife.
    """

    alpha: float = 0.01
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < np.inf:
            raise OptionError(f"alpha is {self.alpha}, expected a finite number >= 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its jackknife covariance; the penalty sets some coefficients to exactly 0."""
        z, y = problem.centred()
        gamma = self._solved(z, y)
        nothing = None if gamma.any() else self._below(z, y)
        taken = f"what the penalty takes, which an alpha below {self.alpha:g} reduces" if self.alpha else None
        spread = jackknifed(z, y, self._solved)
        return Estimate(gamma, spread, float(np.count_nonzero(gamma)), nothing, penalty=taken)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` alone."""
        return self._solved(*problem.centred())

    def _solved(self, z: Floats, y: Floats) -> Floats:
        """Return the coefficients `(p,)` from centred rows."""
        scaled, deviations = _standardised(z)
        gamma = solve_lasso(Gram.of_rows(scaled / np.sqrt(len(y))), scaled.T @ y / len(y), penalty=self.alpha)
        return gamma / deviations

    def _below(self, z: Floats, y: Floats) -> str | None:
        """Return that the penalty alone makes all coefficients 0; None if without it they were rounding."""
        largest = float(np.abs(_standardised(z)[0].T @ y).max(initial=0.0)) / len(y)
        if largest <= _ROUNDING * float(np.abs(y).max()):
            return None
        return (
            f"no effect is above the penalty of {self.alpha:g}, in the unit of the response, so all scores are 0; use "
            f"estimator='penalised-lasso(alpha={largest / 100:.1g})'"
        )


def _standardised(z: Floats) -> tuple[Floats, Floats]:
    """Return centred rows `(n, p)` divided by the deviations of their coordinates, and these `(p,)`."""
    deviations = np.sqrt((z**2).mean(axis=0))
    deviations = np.where(deviations > 0, deviations, 1.0)
    return z / deviations, deviations
