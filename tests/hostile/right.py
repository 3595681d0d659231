"""What a right answer is: true to the text, to the model and to itself."""

import json
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import mase
from mase.attribution import Attribution
from mase.attribution.json import dumps
from mase.errors import EmptyTextError, InvalidTextError, MaseError
from tests.hostile.texts import SILENT

__all__ = ["answered", "faults", "invalid", "typed"]


def answered(
    explainer: Any, text: str, own: Callable[[str], Any] | None = None, *, repeats: bool = True, tolerance: float = 1e-4
) -> str | None:
    """Return what is wrong with the explanation of a text, None if it is right or rightly refused.

    Parameters
    ----------
    explainer, text
        Who explains what.
    own
        The model's own class probabilities of a text, asked past the library; None where nobody can ask twice.
    repeats
        Whether the model answers alike to the same text.
    tolerance
        How far the two answers of the model may be apart.
    """
    try:
        found = explainer(text)
    except (EmptyTextError, InvalidTextError) as error:
        return None if text in SILENT.values() else f"refused: {type(error).__name__}: {error}"
    except MaseError as error:
        return f"refused: {type(error).__name__}: {error}"
    wrong = faults(found, text)
    if not wrong and own is not None:
        wrong = _other_answer(found, np.asarray(own(text), dtype=np.float64), tolerance)
    if not wrong and repeats and explainer(text) != found:
        wrong = "another answer to the same text with the same seed"
    return wrong or None


def faults(found: Attribution, text: str) -> str:
    """Return what is wrong with an attribution in itself, "" if nothing is."""
    if found.text != text:
        return f"explains another text: {found.text[:60]!r}"
    wrong = invalid(found)
    if wrong:
        return wrong
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        found.save(path)
        if mase.load(path) != found:
            return "is not the same when it is read back"
    json.loads(dumps(found))
    shown = repr(found) + found.to_html()
    return "shows characters that command a terminal" if "\x1b" in shown or "\x00" in shown else ""


def invalid(found: Attribution) -> str:
    """Return which distribution of attributions one breaks, "" if none."""
    chances = np.array(list(found.prediction.probabilities.values()))
    spans, fit = found.spans, found.fit
    distributions = {
        "has scores that are not finite": np.isfinite(found.scores).all(),
        "has standard errors that are negative or not finite": all(
            word.standard_error is None or 0 <= word.standard_error < np.inf for word in found.word_scores
        ),
        "has no words": len(found.words) > 0,
        "has words that are not where their spans are": all(
            found.text[w.start : w.end] == w.text for w in found.word_scores
        ),
        "has empty words": all(start < end for start, end in spans),
        "has words that overlap": all(a[1] <= b[0] for a, b in pairwise(spans)),
        "has probabilities outside 0 to 1": bool(((chances >= -1e-6) & (chances <= 1 + 1e-6)).all()),
        "predicts a class it does not have": found.prediction.names[found.prediction.index] == found.prediction.label,
        "predicts with another probability than it says": found.prediction.probability
        == found.prediction.probabilities.get(found.prediction.label),
        "explains a class it does not have": found.target in found.prediction.names,
        "has an R2 above 1": found.r2 is None or found.r2 <= 1 + 1e-9,
        "has negative counts or seconds": min(fit.n_queries, fit.n_gradients, fit.seconds) >= 0,
        "names no method": bool(found.method.get("name")),
    }
    return "; ".join(distribution for distribution, holds in distributions.items() if not holds)


def _other_answer(found: Attribution, own: np.ndarray, tolerance: float) -> str:
    ours = np.array(list(found.prediction.probabilities.values()))
    if ours.shape != own.shape or np.abs(ours - own).max() > tolerance:
        return f"reports the probabilities {ours.tolist()[:4]}, the model says {own.tolist()[:4]}"
    return ""


def typed(function: Callable[[], Any], *errors: type[MaseError]) -> str | None:
    """Return None if the call ends in one of these errors (any of the library's by default), else what it did."""
    try:
        found = function()
    except MaseError as error:
        if errors and not isinstance(error, errors):
            return f"raised {type(error).__name__} ({error}), expected {', '.join(e.__name__ for e in errors)}"
        return None
    return f"was accepted, and gave {found!r:.80}"
