"""White box: the average of the model's own gradients, by Stein's identity the estimand of Theorem 1."""

from dataclasses import dataclass
from typing import ClassVar

from mase.errors import CapabilityError
from mase.sample import Estimate, Problem

__all__ = ["MeanGradient"]


@dataclass(frozen=True, slots=True)
class MeanGradient:
    """gamma = (1/n) sum_i grad_c F(c_i): for Gaussian z, Sigma^-1 E[(F(1+z) - F(1)) z] = E[grad F(1+z)] (Stein).

    Not model-agnostic: it needs a model with gradients. With the zero reference component i is the mean of <e_i, df/de_i>:
    SmoothGrad times input with multiplicative noise.
    """

    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = True

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with the covariance of a mean.

        Raises
        ------
        CapabilityError
            If the problem has no gradients.
        """
        if problem.gradients is None:
            raise CapabilityError(
                "mean-gradient needs the model's gradients, got responses only; use estimator='least-squares'"
            )
        gamma = problem.gradients.mean(axis=0)
        spread = problem.gradients - gamma
        return Estimate(gamma, spread.T @ spread / (problem.n * max(problem.n - 1, 1)), float(problem.p))
