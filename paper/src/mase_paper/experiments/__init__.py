"""The paper's experiments and further studies, run and reported by `mase reproduce`. One file per experiment."""

from mase.registry import Registry

__all__ = ["EXPERIMENTS"]

EXPERIMENTS = Registry(
    "experiment",
    {
        "ablation": "mase_paper.experiments.faithfulness:ABLATION",
        "confirmation": "mase_paper.experiments.confirmation:CONFIRMATION",
        "faithfulness": "mase_paper.experiments.faithfulness:FAITHFULNESS",
        "figure4": "mase_paper.experiments.figure4:FIGURE4",
        "large": "mase_paper.experiments.large:AFFORDED",
        "large-1000": "mase_paper.experiments.large:AS_IN_THE_PAPER",
        "rationale": "mase_paper.experiments.faithfulness:RATIONALE",
        "sweeps": "mase_paper.experiments.sweeps:SWEEPS",
        "table1": "mase_paper.experiments.tables:TABLE1",
        "table2": "mase_paper.experiments.tables:TABLE2",
    },
)
