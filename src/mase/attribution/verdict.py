"""The verdict on an explanation: whether another seed would list the same strongest words.

The rule and the figures behind it are in docs/reading.md; experiments/verdict.py counts how often it is right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from mase.arrays import Floats
from mase.attribution.fit import Note
from mase.attribution.response import Z95, Response, in_order

__all__ = ["CAUTIONS", "Verdict", "probability_of_staying", "verdict_on"]

# Codes of notes that alone make a result one to read with care.
CAUTIONS = frozenset({"constant", "few-samples", "poor-fit", "unstable"})
# Chosen on validation texts (experiments/verdict/verdict.md): results called reliable then keep four of their five
# strongest words in 95 % of the cases, in every target, method, budget and length of texts, with a margin.
_LEAST = 0.9
_JUDGED = 5
_PAIRS = 200
# Round to 6 digits before ranking: a difference below rounding, or below the least error of a Gaussian process, orders
# no words.
_DIGITS = 6
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an explanation is reliable or to be read with care, and why.

    Attributes
    ----------
    reliable
        Whether another seed would very probably list the same strongest words, and no note speaks against the scores.
    reasons
        Why, one clause each.
    """

    reliable: bool
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return f"{'reliable' if self.reliable else 'read with care'}: {'; '.join(self.reasons)}"


def verdict_on(response: Response, notes: Sequence[Note], noun: str = "word") -> Verdict:
    """Return the verdict on the scores of a response, which have these notes; `noun` is what a unit is called."""
    doubts = tuple(note.message for note in notes if note.code in CAUTIONS)
    scores = np.array(response.scores, dtype=np.float64)
    errors = np.array([0.0 if error is None else error for error in response.standard_errors], dtype=np.float64)
    if scores.size and all(error is None for error in response.standard_errors):
        return Verdict(False, ("the scores are not estimates", *doubts))
    if not in_order(scores, response.order):
        return Verdict(
            False, (f"the method does not order the {noun}s by their scores, which alone have errors", *doubts)
        )
    if doubts or not scores.size:
        return Verdict(False, doubts or (f"the text has no {noun}s",))
    if response.r2 is None:
        return Verdict(False, ("how much of the model's behaviour the scores explain was not measured",))
    if not errors.any():
        return Verdict(True, ("the scores have no sampling error",))
    if scores.size == 1:  # it is the strongest with any seed
        reliable = bool(abs(scores[0]) > Z95 * errors[0])
        would = "would" if reliable else "may not"
        return Verdict(reliable, (f"another seed {would} give the only {noun} a score of the same sign",))
    stays = probability_of_staying(scores, errors)
    reliable = stays >= _LEAST
    would = "would" if reliable else "may not"
    return Verdict(reliable, (f"another seed {would} keep {_words(scores.size, noun)} (probability {_share(stays)})",))


def probability_of_staying(scores: Floats, errors: Floats) -> float:
    """Return how probable it is that another seed lists the same strongest words.

    Scores of another seed are drawn 400 times from normal distributions around these scores, with the variance of the
    difference between two seeds. The result is the share of draws in which at least four of the five words of largest
    absolute score are among the five again, ties included. Of fewer than ten words the stronger half is judged, four
    fifths of which, rounded up, have to stay. The draws are 200 pairs of opposite deviations, so that scores of
    opposite signs, as for the other of two classes, stay as often.

    Parameters
    ----------
    scores, errors
        Scores and their standard errors `(w,)`.

    Examples
    --------
    >>> probability_of_staying(np.array([3.0, 1.0, 0.0, 0.0]), np.array([0.1, 0.1, 0.1, 0.1]))
    1.0
    """
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal((_PAIRS, scores.size))
    noise = np.concatenate([noise, -noise])
    with np.errstate(over="ignore", invalid="ignore"):  # errors near the largest float: no word stays
        strength = np.abs(scores + np.sqrt(2) * errors * noise)
        strength = np.round(strength / (strength.max(axis=1, keepdims=True) + _TINY), _DIGITS)
    k = _n_judged(scores.size)
    listed = np.argsort(-np.abs(scores), kind="stable")[:k]
    least = np.partition(strength, scores.size - k, axis=1)[:, [scores.size - k]]
    stay = (strength[:, listed] >= least).sum(axis=1)
    return float((stay >= _n_needed(k)).mean())


def _n_judged(n_words: int) -> int:
    """Return how many of the strongest words are judged: five, but at most half of the words of a text."""
    return min(_JUDGED, max(1, n_words // 2))


def _n_needed(k: int) -> int:
    return ceil(0.8 * k)


def _words(n_words: int, noun: str) -> str:
    k = _n_judged(n_words)
    if k == _JUDGED:
        return f"4 of the 5 strongest {noun}s"
    return f"the strongest {noun}" if k == 1 else f"the {k} strongest {noun}s"


def _share(value: float) -> str:
    """Return a share in percent, never rounded up to 100."""
    return "> 99 %" if value > 0.99 else f"{100 * max(value, 0.0):.0f} %"
