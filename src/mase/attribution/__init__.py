"""The result of an explanation: an `Attribution` has scores for words, their error bars, and their provenance."""

from mase.attribution.answer import Answer, Part
from mase.attribution.attribution import Attribution
from mase.attribution.attributions import Attributions
from mase.attribution.citations import Citation
from mase.attribution.document import Token, Unit
from mase.attribution.evidence import Changed, Evidence, FlipSet
from mase.attribution.expected import chosen
from mase.attribution.fit import LISTED, Fit, Note, Precision
from mase.attribution.interaction import Interaction
from mase.attribution.prediction import Prediction
from mase.attribution.response import Response, ranking
from mase.attribution.verdict import Verdict
from mase.attribution.window import Window, WindowResponse
from mase.attribution.word import Word
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
