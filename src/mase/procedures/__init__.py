"""Procedures: methods that are not a single regression."""

from typing import TYPE_CHECKING

from mase.registry import Registry, lazy_names

if TYPE_CHECKING:
    from mase.solve.oracle import Oracle as Oracle
    from mase.solve.problem import Estimate as Estimate
    from mase.solve.strategy import Solution as Solution
    from mase.solve.strategy import Stopping as Stopping
    from mase.solve.strategy import Strategy as Strategy

__all__ = ["PROCEDURES", "Estimate", "Oracle", "Solution", "Stopping", "Strategy"]

PROCEDURES = Registry(
    "procedure",
    {
        "random": "mase.procedures.games:Random",
        "beam-search": "mase.procedures.search:BeamSearch",
        "partition-shap": "mase.procedures.games:PartitionShap",
        "permutation-importance": "mase.procedures.games:PermutationImportance",
        "gradient-norm": "mase.procedures.gradients:GradientNorm",
        "sequential-ig": "mase.procedures.gradients:SequentialIG",
        "sobol-indices": "mase.procedures.games:SobolIndices",
        "deep-shap": "mase.procedures.gradients:DeepShap",
        "screening": "mase.procedures.screening:Screening",
    },
    "mase.procedures",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Estimate": "mase.solve.problem",
            "Oracle": "mase.solve.oracle",
            "Solution": "mase.solve.strategy",
            "Stopping": "mase.solve.strategy",
            "Strategy": "mase.solve.strategy",
        },
    )
