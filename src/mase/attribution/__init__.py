"""The result of an explanation: an `Attribution` has scores for words, their error bars, and their provenance."""

from mase.attribution.attribution import Attribution, Attributions, Token, Unit, Window, WindowResponse, Word
from mase.attribution.evidence import Changed, Evidence, FlipSet, Verdict, chosen
from mase.attribution.response import (
    LISTED,
    Answer,
    Citation,
    Fit,
    Interaction,
    Note,
    Part,
    Prediction,
    Response,
    ranking,
)
from mase.defaults import Precision
from mase.document import Field

__all__ = [
    "LISTED",
    "Answer",
    "Attribution",
    "Attributions",
    "Changed",
    "Citation",
    "Evidence",
    "Field",
    "Fit",
    "FlipSet",
    "Interaction",
    "Note",
    "Part",
    "Precision",
    "Prediction",
    "Response",
    "Token",
    "Unit",
    "Verdict",
    "Window",
    "WindowResponse",
    "Word",
    "chosen",
    "ranking",
]
