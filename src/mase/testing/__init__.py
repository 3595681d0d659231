"""Models with known scores, and contract checks, for the tests of plug-ins and of this library.

Probes and classifiers need numpy only. The torch modules are imported on first use.
"""

from typing import TYPE_CHECKING

from mase.registry import lazy_names
from mase.testing.contracts import (
    check_design,
    check_estimator,
    check_metric,
    check_model,
    check_output,
    check_procedure,
    check_space,
)
from mase.testing.models import AdditiveClassifier, FunctionProbe, LogisticClassifier, linear, quadratic, smooth

if TYPE_CHECKING:
    from mase.testing.modules import SmallLSTM as SmallLSTM
    from mase.testing.modules import SmallMLP as SmallMLP
    from mase.testing.modules import Wrapped as Wrapped
    from mase.testing.modules import whitespace_ids as whitespace_ids

__all__ = [
    "AdditiveClassifier",
    "FunctionProbe",
    "LogisticClassifier",
    "SmallLSTM",
    "SmallMLP",
    "Wrapped",
    "check_design",
    "check_estimator",
    "check_metric",
    "check_model",
    "check_output",
    "check_procedure",
    "check_space",
    "linear",
    "quadratic",
    "smooth",
    "whitespace_ids",
]

# Imported on first use, because they load torch.
_TORCH = ("SmallLSTM", "SmallMLP", "Wrapped", "whitespace_ids")
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        dict.fromkeys(_TORCH, "mase.testing.modules"),
        needs=dict.fromkeys(_TORCH, (("torch", "torch"),)),
    )
