"""Metrics of faithfulness: how well the scores of words describe the model. One file per metric.

>>> from mase.metrics import METRICS
>>> METRICS["delta-accuracy"](ks=(1, 5)).columns[1].name
'k=5'
"""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.metrics.alignment import align as align
    from mase.metrics.evaluation import evaluate as evaluate
    from mase.metrics.masking import masker as masker
    from mase.metrics.protocol import Column as Column
    from mase.metrics.protocol import Instance as Instance
    from mase.metrics.protocol import Metric as Metric

__all__ = ["METRICS", "Column", "Instance", "Metric", "align", "evaluate", "masker"]

METRICS = Registry(
    "metric",
    {
        "delta-accuracy": "mase.metrics.delta_accuracy:DeltaAccuracy",
        "comprehensiveness": "mase.metrics.rationales:Comprehensiveness",
        "sufficiency": "mase.metrics.rationales:Sufficiency",
        "log-odds": "mase.metrics.log_odds:LogOdds",
        "aopc": "mase.metrics.aopc:Aopc",
        "naopc": "mase.metrics.naopc:NormalisedAopc",
        "deletion": "mase.metrics.deletion_insertion:Deletion",
        "insertion": "mase.metrics.deletion_insertion:Insertion",
        "infidelity": "mase.metrics.infidelity:Infidelity",
        "max-sensitivity": "mase.metrics.max_sensitivity:MaxSensitivity",
        "seed-agreement": "mase.metrics.agreement:SeedAgreement",
    },
    "mase.metrics",
)

# Imported on first use: these load NumPy, which the names above do not.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Column": "mase.metrics.protocol",
            "Instance": "mase.metrics.protocol",
            "Metric": "mase.metrics.protocol",
            "align": "mase.metrics.alignment",
            "evaluate": "mase.metrics.evaluation",
            "masker": "mase.metrics.masking",
        },
    )
