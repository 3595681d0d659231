"""Estimators: from coordinates and responses to coefficients with a covariance. One file per estimator."""

from mase.registry import Registry

__all__ = ["ESTIMATORS"]

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
)
