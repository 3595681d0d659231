"""What was found of one probe: coefficients, the response that they explain, and their fit."""

from dataclasses import dataclass

from mase.attribution import Fit, Note
from mase.regression.problem import Estimate
from mase.regression.promotion import Lead

__all__ = ["Measurement"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, how well they explain its response, and remarks: what knows nothing of text."""

    estimate: Estimate
    response: float
    r2: float | None
    fit: Fit
    notes: tuple[Note, ...] = ()
    lead: Lead | None = None
