"""Procedures: explanation methods that are not a single regression. One file per procedure."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.regression.estimate import Estimate as Estimate
    from mase.regression.oracle import Oracle as Oracle
    from mase.regression.stopping import Stopping as Stopping
    from mase.regression.strategy import Solution as Solution
    from mase.regression.strategy import Strategy as Strategy

__all__ = ["PROCEDURES", "Estimate", "Oracle", "Solution", "Stopping", "Strategy"]

PROCEDURES = Registry(
    "procedure",
    {
        "random": "mase.procedures.random:Random",
        "beam-search": "mase.procedures.beam_search:BeamSearch",
        "partition-shap": "mase.procedures.partition_shap:PartitionShap",
        "permutation-importance": "mase.procedures.permutation_importance:PermutationImportance",
        "gradient-norm": "mase.procedures.gradient_norm:GradientNorm",
        "sequential-ig": "mase.procedures.sequential_ig:SequentialIG",
        "sobol-indices": "mase.procedures.sobol_indices:SobolIndices",
        "deep-shap": "mase.procedures.deep_shap:DeepShap",
    },
    "mase.procedures",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Estimate": "mase.regression.estimate",
            "Oracle": "mase.regression.oracle",
            "Solution": "mase.regression.strategy",
            "Stopping": "mase.regression.stopping",
            "Strategy": "mase.regression.strategy",
        },
    )
