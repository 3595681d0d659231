"""Metrics of faithfulness: how well the scores of words describe the model. One file per metric.

>>> from mase.metrics import METRICS
>>> METRICS["delta-accuracy"](ks=(1, 5)).columns[1].name
'k=5'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mase.registry import Registry

if TYPE_CHECKING:
    from mase.metrics.alignment import align as align
    from mase.metrics.evaluation import evaluate as evaluate
    from mase.metrics.masking import masker as masker

__all__ = ["METRICS", "align", "evaluate", "masker"]

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
# Functions that import NumPy and the models. They are imported on first use, so that `mase --help` stays fast.
_LAZY = {"align": "mase.metrics.alignment", "evaluate": "mase.metrics.evaluation", "masker": "mase.metrics.masking"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'mase.metrics' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
