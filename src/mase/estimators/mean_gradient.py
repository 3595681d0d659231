"""White box: the average gradient of the model, which by Stein's identity is the estimand of Theorem 1."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.errors import CapabilityError
from mase.regression.covariance import scatter
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["MeanGradient"]


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
