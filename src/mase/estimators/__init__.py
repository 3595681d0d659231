"""Estimators: from coordinates and responses to coefficients with a covariance. One file per estimator."""

from typing import TYPE_CHECKING, Any

from mase.registry import Registry

if TYPE_CHECKING:
    from mase.regression.problem import Estimate as Estimate
    from mase.regression.problem import Estimator as Estimator
    from mase.regression.problem import Problem as Problem
    from mase.regression.problem import Solver as Solver

__all__ = ["ESTIMATORS", "Estimate", "Estimator", "Problem", "Solver"]

ESTIMATORS = Registry(
    "estimator",
    {
        "moment": "mase.estimators.moment:Moment",
        "least-squares": "mase.estimators.least_squares:LeastSquares",
        "ridge": "mase.estimators.ridge:Ridge",
        "lasso": "mase.estimators.lasso:Lasso",
        "sparse": "mase.estimators.sparse:Sparse",
        "fixed-ridge": "mase.estimators.fixed_ridge:FixedRidge",
        "constrained": "mase.estimators.constrained:Constrained",
        "mean-gradient": "mase.estimators.mean_gradient:MeanGradient",
    },
    "mase.estimators",
)


def __getattr__(name: str) -> Any:
    """Give the values and protocols that an addition to this folder needs; they load NumPy, which the names above do not."""
    if name not in __all__:
        raise AttributeError(f"module 'mase.estimators' has no attribute {name!r}")
    from mase.regression import problem

    return getattr(problem, name)
