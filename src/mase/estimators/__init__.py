"""Estimators: compute coefficients and their covariance from coordinates and responses. One file per estimator."""

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
    """Import the classes and protocols of estimators on first use, because they load NumPy."""
    if name not in __all__:
        raise AttributeError(f"module 'mase.estimators' has no attribute {name!r}")
    from mase.regression import problem

    return getattr(problem, name)
