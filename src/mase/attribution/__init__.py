"""The result: an `Attribution` says which words made a model decide, how certain that is and where it came from."""

from mase.attribution.attribution import LISTED, Attribution, Word
from mase.attribution.document import Field, Token, Unit
from mase.attribution.fit import Fit, Note, Precision
from mase.attribution.prediction import Prediction
from mase.attribution.response import Response, ranking

__all__ = [
    "LISTED",
    "Attribution",
    "Field",
    "Fit",
    "Note",
    "Precision",
    "Prediction",
    "Response",
    "Token",
    "Unit",
    "Word",
    "ranking",
]
