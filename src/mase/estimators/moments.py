"""The closed form of Theorem 1, the mean gradient."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import CapabilityError, OptionError
from mase.solve.distributions import scatter
from mase.solve.problem import Estimate, Problem


def moment_rows(problem: Problem) -> Floats:
    """Return the n terms y_i z_i `(n, p)` whose mean is b of Eq. lp, with y_i = f(c_i) - f(x0)."""
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


@dataclass(frozen=True, slots=True)
class MeanGradient:
    """gamma = sum_i w_i grad_c F(c_i) / sum_i w_i.

    For Gaussian z and equal weights this is Theorem 1's estimand: Sigma^-1 E[(F(1+z) - F(1)) z] = E[grad F(1+z)]
    (Stein).

    It is not model-agnostic, because it needs gradients. With the zero reference, component i is the mean of
    <e_i, df/de_i>, which is SmoothGrad times input with multiplicative noise. With the nodes and weights of a
    quadrature along the path from the reference, it is integrated gradients.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = True

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with the covariance of a weighted mean.

        No degrees of freedom are used, because no response is fitted.

        Raises
        ------
        CapabilityError
            If the problem has no gradients.
        """
        if problem.gradients is None:
            raise CapabilityError(
                "estimator 'mean-gradient' needs gradients, got responses only; use estimator='least-squares'"
            )
        gamma = np.average(problem.gradients, axis=0, weights=problem.weights)
        spread = (problem.gradients - gamma) * (problem.weights / problem.weights.mean())[:, None]
        return Estimate(gamma, scatter(spread) / (problem.n * max(problem.n - 1, 1)), 0.0)
