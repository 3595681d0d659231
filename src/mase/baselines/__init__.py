"""Explainers that are no single regression, competitors of MASE among them. One file per procedure."""

from mase.registry import Registry

__all__ = ["PROCEDURES"]

PROCEDURES = Registry(
    "procedure",
    {
        "random": "mase.baselines.random:Random",
        "partition-shap": "mase.baselines.partition_shap:PartitionShap",
        "permutation-importance": "mase.baselines.permutation_importance:PermutationImportance",
        "gradient-norm": "mase.baselines.gradient_norm:GradientNorm",
        "sequential-ig": "mase.baselines.sequential_ig:SequentialIG",
        "deep-shap": "mase.baselines.deep_shap:DeepShap",
    },
    "mase.procedures",
)
