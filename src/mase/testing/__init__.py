"""Models with known answers and contract checks, shipped for the tests of plug-ins as well as our own."""

from mase.testing.contracts import check_design, check_estimator, check_model, check_procedure, check_space
from mase.testing.probes import FunctionProbe, linear, quadratic, smooth

__all__ = [
    "FunctionProbe",
    "check_design",
    "check_estimator",
    "check_model",
    "check_procedure",
    "check_space",
    "linear",
    "quadratic",
    "smooth",
]
