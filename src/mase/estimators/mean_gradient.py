"""White box: the average of the model's own gradients, by Stein's identity the estimand of Theorem 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.errors import CapabilityError
from mase.regression.covariance import scatter
from mase.regression.problem import Estimate, Problem

__all__ = ["MeanGradient"]


@dataclass(frozen=True, slots=True)
class MeanGradient:
    """gamma = sum_i w_i grad_c F(c_i) / sum_i w_i.

    For Gaussian z and equal weights this is Theorem 1's estimand: Sigma^-1 E[(F(1+z) - F(1)) z] = E[grad F(1+z)]
    (Stein).

    Not model-agnostic: it needs a model with gradients. With the zero reference component i is the mean of <e_i,
    df/de_i>: SmoothGrad times input with multiplicative noise. On nodes and weights of a quadrature along the path from
    the reference it is integrated gradients.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = True

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with the covariance of a weighted mean; no response was fitted, so no degree of freedom is used.

        Raises
        ------
        CapabilityError
            If the problem has no gradients.
        """
        if problem.gradients is None:
            raise CapabilityError(
                "mean-gradient needs the model's gradients, got responses only; use estimator='least-squares'"
            )
        gamma = np.average(problem.gradients, axis=0, weights=problem.weights)
        spread = (problem.gradients - gamma) * (problem.weights / problem.weights.mean())[:, None]
        return Estimate(gamma, scatter(spread) / (problem.n * max(problem.n - 1, 1)), 0.0)
