"""Estimators: compute coefficients and their covariance from coordinates and responses. One file per estimator."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.regression.estimate import Estimate as Estimate
    from mase.regression.estimator import Estimator as Estimator
    from mase.regression.estimator import Solver as Solver
    from mase.regression.problem import Problem as Problem

__all__ = ["ESTIMATORS", "Estimate", "Estimator", "Problem", "Solver"]

ESTIMATORS = Registry(
    "estimator",
    {
        "moment": "mase.estimators.moment:Moment",
        "least-squares": "mase.estimators.least_squares:LeastSquares",
        "ridge": "mase.estimators.ridge:Ridge",
        "empirical-bayes": "mase.estimators.empirical_bayes:EmpiricalBayes",
        "kernel-ridge": "mase.estimators.kernel_ridge:KernelRidge",
        "lasso": "mase.estimators.lasso:Lasso",
        "penalised-lasso": "mase.estimators.penalised_lasso:PenalisedLasso",
        "sparse": "mase.estimators.sparse:Sparse",
        "fixed-ridge": "mase.estimators.fixed_ridge:FixedRidge",
        "constrained": "mase.estimators.constrained:Constrained",
        "boosted-trees": "mase.estimators.boosted_trees:BoostedTrees",
        "mean-gradient": "mase.estimators.mean_gradient:MeanGradient",
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
            "Estimate": "mase.regression.estimate",
            "Estimator": "mase.regression.estimator",
            "Problem": "mase.regression.problem",
            "Solver": "mase.regression.estimator",
        },
    )
