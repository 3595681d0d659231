"""MASE_Sparse: the coefficients of smallest L1 norm that match the moments up to a tolerance (Eq. lp)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.estimators.dantzig import minimum_l1
from mase.estimators.gram import Gram
from mase.estimators.moment import Moment, dof, moment_rows
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Sparse", "soft_threshold"]


@dataclass(frozen=True, slots=True)
class Sparse:
    """min |g|_1 subject to |b - Sigma g|_inf <= tol, with b = (1/N) sum_i y_i z_i (Eq. lp).

    Parameters
    ----------
    tol
        The tolerance, which is L in the paper, where it has no value. A number, or ``"auto"`` for the universal
        threshold sd(y z) sqrt(2 log p / N).
    relative
        Whether a number is a share of max |b|. The default, 0.1 relative, follows the authors' earlier code (LEG).
    gram
        ``"law"`` uses Sigma, the covariance of the distribution, as the paper does. ``"empirical"`` uses the second
        moments of the sample: the Dantzig selector (Candes and Tao 2007). On a linear model of few words its error is
        smaller if the tolerance is small. With ``tol="auto"`` the error is that of ``"law"``.

    Notes
    -----
    For a diagonal Sigma the program separates into soft thresholds. The remaining words then rank exactly as under
    Theorem 1. Standard errors are those of the estimate of Theorem 1, before thresholding.
    """

    tol: float | Literal["auto"] = 0.1
    relative: bool = True
    gram: Literal["law", "empirical"] = "law"
    needs_base: ClassVar[bool] = True
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.tol != "auto" and not (isinstance(self.tol, int | float) and 0 <= self.tol < np.inf):
            raise OptionError(f"tol is {self.tol!r}, expected a finite number >= 0 or 'auto'")
        if self.gram not in ("law", "empirical"):
            raise OptionError(f"gram is {self.gram!r}, expected 'law' or 'empirical'")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)`; the tolerance sets some coefficients to exactly 0."""
        terms = moment_rows(problem)
        b = terms.mean(axis=0)
        tolerance = self._tolerance(problem, terms, b)
        if self.gram == "empirical":
            share = problem.weights / problem.weights.sum()
            gamma = minimum_l1(Gram.of_rows(np.sqrt(share)[:, None] * problem.z), b, tolerance)
        elif problem.covariance.is_diagonal:
            gamma = soft_threshold(b, tolerance, problem.covariance.deviations**2)
        else:
            gamma = minimum_l1(problem.covariance.matrix(), b, tolerance)
        return Estimate(gamma, Moment().fit(problem).covariance, dof(problem, gamma, problem.covariance.solve(terms)))

    def _tolerance(self, problem: Problem, terms: Floats, b: Floats) -> float:
        if self.tol == "auto" and problem.unlimited:
            return 0.0
        if self.tol == "auto":
            n, p = terms.shape
            return float(terms.std(axis=0).max() * np.sqrt(2 * np.log(max(p, 2)) / n))
        return float(self.tol * np.abs(b).max(initial=0.0)) if self.relative else float(self.tol)


def soft_threshold(b: Floats, tol: float, variances: Floats) -> Floats:
    """Return the solution `(p,)` of Eq. lp for Sigma = diag(variances): sign(b) max(|b| - tol, 0) / variance."""
    return np.asarray(np.sign(b) * np.maximum(np.abs(b) - tol, 0.0) / variances)
