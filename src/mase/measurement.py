"""What was found of one probe: coefficients, the response that they explain, and their fit."""

from dataclasses import dataclass

from mase.attribution import Fit
from mase.sample import Estimate

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, with their fit: the part of an explanation that knows nothing of text."""

    estimate: Estimate
    response: float
    fit: Fit
