"""The paper's experiments and this library's own: run, resumed and reported by `mase reproduce`. One file per experiment."""

from mase.registry import Registry

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = Registry(
    "experiment",
    {
        "ablation": "mase.experiments.faithfulness:ABLATION",
        "faithfulness": "mase.experiments.faithfulness:FAITHFULNESS",
        "figure4": "mase.experiments.figure4:FIGURE4",
        "sweeps": "mase.experiments.sweeps:SWEEPS",
        "table1": "mase.experiments.tables:TABLE1",
        "table2": "mase.experiments.tables:TABLE2",
    },
)
