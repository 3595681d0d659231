"""Estimators: coefficients and their covariance from coordinates and responses."""

from typing import TYPE_CHECKING

from mase.registry import Registry, lazy_names

if TYPE_CHECKING:
    from mase.solve.problem import Estimate as Estimate
    from mase.solve.problem import Estimator as Estimator
    from mase.solve.problem import Problem as Problem

__all__ = ["ESTIMATORS", "Estimate", "Estimator", "Problem"]

ESTIMATORS = Registry(
    "estimator",
    {
        "moment": "mase.estimators.linear:Moment",
        "least-squares": "mase.estimators.linear:LeastSquares",
        "ridge": "mase.estimators.linear:Ridge",
        "empirical-bayes": "mase.estimators.bayes:EmpiricalBayes",
        "kernel-ridge": "mase.estimators.kernel_ridge:KernelRidge",
        "lasso": "mase.estimators.sparse:Lasso",
        "penalised-lasso": "mase.estimators.sparse:PenalisedLasso",
        "sparse": "mase.estimators.sparse:Sparse",
        "fixed-ridge": "mase.estimators.linear:FixedRidge",
        "constrained": "mase.estimators.linear:Constrained",
        "boosted-trees": "mase.estimators.boosted_trees:BoostedTrees",
        "mean-gradient": "mase.estimators.linear:MeanGradient",
    },
    "mase.estimators",
    renamed={"gaussian-process": "kernel-ridge"},
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Estimate": "mase.solve.problem",
            "Estimator": "mase.solve.problem",
            "Problem": "mase.solve.problem",
        },
    )
