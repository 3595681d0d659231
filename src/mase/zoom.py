"""Zoom in: explain the strongest units word by word, while everything else stays in place."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mase.attribution import Attribution, ranking
from mase.bound_text import BoundText
from mase.errors import OptionError
from mase.measure import measure
from mase.models.protocol import Probe
from mase.regression.precision import QueryOptions
from mase.regression.stopping import Stopping
from mase.rng import generator
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
    if isinstance(zoom, bool) or not isinstance(zoom, int) or zoom < 0:
        raise OptionError(f"zoom is {zoom!r}, expected an integer >= 0")
    if zoom and isinstance(splitter, Word | WordPunct | Token | Dictionary):
        raise OptionError(f"zoom is {zoom} with units={splitter.name!r}, expected larger units, as in units='sentence'")
    return zoom


def zoomed(
    bound: BoundText,
    found: Attribution,
    zoom: int,
    described: Callable[[Probe, int], Mapping[str, Any]],
    query: QueryOptions,
    stopping: Stopping,
) -> Attribution | None:
    """Return the attribution of the words in the units of largest absolute score, None if `zoom` is 0.

    It is of the same classes, by the same method, and from samples of its own.

    Parameters
    ----------
    bound, found
        The document as it was explained, and its attribution.
    zoom
        Number of units.
    described
        Returns the settings of an explanation from its probe and its number of samples.
    query, stopping
        As for `mase.measure.measure`.
    """
    if not zoom:
        return None
    within = [bound.words.spans[unit] for unit in ranking(np.abs(found.scores))[:zoom]]
    document, question = bound.tokens.document, Question(bound.targets, bound.against)
    inner = BoundText.of(bound.model, bound.method, document, question, _WORDS, seed=found.seed, within=within)
    rng = generator(found.seed, f"{document.key}\0zoom")
    first, *others = inner.targets
    n_samples = bound.method.budget(int(np.count_nonzero(inner.probe.scale)), stops_early=not stopping.never)
    method = replace(bound.method, n_samples=n_samples)
    solution = measure(inner.probe, method, first, rng, query, stopping, others=others, link=inner.link)
    settings = described(inner.probe, n_samples)
    settings = {name: value for name, value in settings.items() if name not in ("zoom", "evidence")}
    return inner.attribution(solution, settings | {"units": _WORDS.name}, found.seed)
