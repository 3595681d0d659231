"""The closed form of Theorem 1: Sigma^-1 times the average of (f(c) - f(x0)) z."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.regression.covariance import scatter
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Moment", "dof", "moment_rows"]


def moment_rows(problem: Problem) -> Floats:
    """Return the n terms y_i z_i `(n, p)` whose mean is b of Eq. lp, with y_i = f(c_i) - f(x0).

    Raises
    ------
    OptionError
        If the response at the centre is unknown, because the rows have no common centre.
    """
    if problem.base is None:
        raise OptionError(
            "the rows of the design have no common centre, expected a design with one; use estimator='least-squares'"
        )
    share = problem.weights / problem.weights.mean()
    return np.asarray(((problem.y - problem.base) * share)[:, None] * problem.z)


@dataclass(frozen=True, slots=True)
class Moment:
    """The paper's closed form (Theorem 1, Eq. lemma1): gamma = Sigma^-1 (1/N) sum_i (f(c_i) - f(x0)) z_i.

    Notes
    -----
    Its relative error is sqrt((p+1)/N) even for an exactly linear model, because the second moments of the sample are
    not Sigma. `LeastSquares` estimates the same quantity without that error. This estimator reproduces the paper.
    """

    needs_base: ClassVar[bool] = True
    needs_gradients: ClassVar[bool] = False

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` and its covariance as the mean of n independent terms."""
        terms = problem.covariance.solve(moment_rows(problem))
        spread = terms - terms.mean(axis=0)
        gamma = terms.mean(axis=0)
        return Estimate(gamma, scatter(spread) / (problem.n * max(problem.n - 1, 1)), dof(problem, gamma, terms))


def dof(problem: Problem, gamma: Floats, terms: Floats) -> float:
    """Return the degrees of freedom of coefficients `(p,)` that are a mean of terms `(n, p)`, one for each row.

    The coefficients are not fitted to the responses, so p would be far too many. Without row i the mean changes by
    (mean - term i) / (n - 1), which gives the leave-one-out residual of the row. The returned number makes the adjusted
    mean square of the residuals equal to that of the leave-one-out residuals. It is negative if the term of a row
    overshoots its response, as happens with many words.
    """
    if problem.n < 2:
        return float(problem.p)
    changes = (terms.mean(axis=0) - terms) * (gamma != 0) / (problem.n - 1)
    residuals = problem.y - problem.z @ gamma
    loo_residuals = residuals - np.einsum("np,np->n", problem.z, changes)
    in_sample, left_out = map(problem.squares, (residuals, loo_residuals))
    return (problem.n - problem.n_intercepts) * (1 - in_sample / left_out) if left_out > 0 else 0.0
