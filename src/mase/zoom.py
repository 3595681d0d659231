"""Zoom in: explain the strongest units word by word, while everything else stays in place."""

from dataclasses import replace

import numpy as np

from mase.attribution import Attribution, ranking
from mase.bound_text import BoundText
from mase.errors import OptionError
from mase.measurement import Measurement
from mase.scalars import check_integer
from mase.target import Question
from mase.units import Splitter
from mase.units.dictionary import Dictionary
from mase.units.token import Token
from mase.units.word import Word
from mase.units.wordpunct import WordPunct

__all__ = ["check_zoom", "zoomed"]

_WORDS = Word()


def check_zoom(zoom: int, splitter: Splitter) -> int:
    """Return the number of units to zoom in to.

    Raises
    ------
    OptionError
        If it is not an integer >= 0, or the units are words already.
    """
    zoom = check_integer("zoom", zoom, 0)
    if zoom and isinstance(splitter, Word | WordPunct | Token | Dictionary):
        raise OptionError(f"zoom is {zoom} with units={splitter.name!r}, expected larger units, as in units='sentence'")
    return zoom


def zoomed(bound: BoundText, found: Attribution, zoom: int, measurement: Measurement) -> Attribution:
    """Return the attribution of the words in the units of largest absolute score.

    It is of the same classes, by the same method, and from samples of its own.

    Parameters
    ----------
    bound, found
        The document as it was explained, and its attribution.
    zoom
        Number of units.
    measurement
        How the document was measured.
    """
    within = [bound.words.spans[unit] for unit in ranking(np.abs(found.scores))[:zoom]]
    document, question = bound.tokens.document, Question.about(bound.model.labels, bound.targets, bound.against)
    inner = BoundText.of(bound.model, bound.method, document, question, _WORDS, seed=found.seed, within=within)
    further = {name: value for name, value in measurement.further.items() if name != "zoom"}
    return replace(measurement, splitter=_WORDS, n_tested=0, further=further).attribution(inner, stream="\0zoom")
