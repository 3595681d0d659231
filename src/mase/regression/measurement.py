"""What was found of one probe: coefficients, the response that they explain, and their fit."""

from dataclasses import dataclass

from mase.attribution import Fit
from mase.regression.problem import Estimate
from mase.regression.promotion import Lead

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, their fit, and the lead if one was raised: what knows nothing of text."""

    estimate: Estimate
    response: float
    fit: Fit
    lead: Lead | None = None
