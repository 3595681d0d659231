"""The tables of metrics and of masking operators.

>>> from mase.metrics import METRICS
>>> METRICS["delta-accuracy"](ks=(1, 5)).columns[1].name
'k=5'
"""

from typing import TYPE_CHECKING, Literal

from mase.registry import Registry, lazy_names, unknown

if TYPE_CHECKING:
    from mase.metrics.base import Column as Column
    from mase.metrics.base import Instance as Instance
    from mase.metrics.base import Metric as Metric
    from mase.metrics.evaluation import evaluate as evaluate
    from mase.metrics.given import align as align
    from mase.metrics.masking import masker as masker

__all__ = [
    "AUTO",
    "METRICS",
    "OPERATORS",
    "Column",
    "Instance",
    "Metric",
    "Operator",
    "align",
    "check_operator",
    "evaluate",
    "masker",
]

METRICS = Registry(
    "metric",
    {
        "delta-accuracy": "mase.metrics.curves:DeltaAccuracy",
        "comprehensiveness": "mase.metrics.curves:Comprehensiveness",
        "sufficiency": "mase.metrics.curves:Sufficiency",
        "log-odds": "mase.metrics.curves:LogOdds",
        "aopc": "mase.metrics.curves:Aopc",
        "naopc": "mase.metrics.curves:NormalisedAopc",
        "deletion": "mase.metrics.curves:Deletion",
        "insertion": "mase.metrics.curves:Insertion",
        "infidelity": "mase.metrics.perturbation:Infidelity",
        "max-sensitivity": "mase.metrics.perturbation:MaxSensitivity",
        "seed-agreement": "mase.metrics.perturbation:SeedAgreement",
    },
    "mase.metrics",
)


# Imported on first use: these load NumPy, which the names above do not.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Column": "mase.metrics.base",
            "Instance": "mase.metrics.base",
            "Metric": "mase.metrics.base",
            "align": "mase.metrics.given",
            "evaluate": "mase.metrics.evaluation",
            "masker": "mase.metrics.masking",
        },
    )


# Selects the model's first reference.
AUTO = "auto"

# The built-in names, for type checkers and editors. A test compares them with the registry.
Operator = Literal["auto", "mask", "unk", "pad", "zero", "delete"]

OPERATORS = Registry(
    "masking operator",
    {
        "mask": "mase.metrics.masking:MASK",
        "unk": "mase.metrics.masking:UNK",
        "pad": "mase.metrics.masking:PAD",
        "zero": "mase.metrics.masking:ZERO",
        "delete": "mase.metrics.masking:DELETE",
    },
    "mase.operators",
)


def check_operator(name: str) -> None:
    """Check that `name` is a masking operator, or "auto".

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    if not isinstance(name, str) or (name != AUTO and name not in OPERATORS):
        raise unknown(OPERATORS.kind, name, [AUTO, *OPERATORS])
