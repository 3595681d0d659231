"""What the model said without the best units, and the verdict on a result.

The rule and the figures behind it are in docs/reading.md; experiments/places.py counts how often it is right.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, fsum, isclose
from typing import TYPE_CHECKING

import numpy as np

from mase.arrays import Floats
from mase.attribution.response import LISTED, Note, Response, in_order
from mase.defaults import is_integer
from mase.errors import OptionError

if TYPE_CHECKING:
    from mase.attribution.attribution import Attribution


# What stands for the class where a chat model names none.
NO_LABEL = "no label"


@dataclass(frozen=True, slots=True)
class Changed:
    """The prediction for a changed document.

    Attributes
    ----------
    units
        Indices of the units that are masked (or kept, while all others are masked), best first.
    label, probability
        The most probable class and its probability; of separate questions (multi-label), those of the explained class;
        for a model of values, the explained one and None, or the class of the largest score and None. If most answers
        of a chat model have no label, `NO_LABEL` and their share.
    target_probability
        Probability of the explained class; None for a value.
    response
        The explained number: the link of the explained class, or the value.
    """

    units: tuple[int, ...]
    label: str
    probability: float | None
    target_probability: float | None
    response: float


@dataclass(frozen=True, slots=True)
class FlipSet:
    """A small set of units whose masking changes the prediction.

    Of separate questions (multi-label), the explained class is predicted if its probability is at least 0.5.

    It is the shortest beginning of the order that changes the prediction, without units that are not needed for that.
    Units are put back one at a time until no evaluations are left for it, so one that is not needed may remain. Of a
    model that answers differently each time, it is a beginning that changes the mean of five answers.

    Attributes
    ----------
    units
        Their indices, in the order of the response.
    label, probability
        The most probable class without them, and its probability; of separate questions, those of the explained class;
        of a model of scores, the class of the largest one and None.
    smallest
        Whether the model was asked for every smaller set, and none changes the prediction.
    """

    units: tuple[int, ...]
    label: str
    probability: float | None
    smallest: bool


@dataclass(frozen=True, slots=True)
class Evidence:
    """A test of the scores on the model itself.

    Attributes
    ----------
    without
        Predictions with the best 1, 2, ... K units masked.
    only
        Predictions with only the best 1, 2, ... K units kept.
    flip_set
        A small set of units whose masking changes the prediction. None if none was found, if the explained class is
        not the predicted one, or if the model returns values that belong to no classes.
    response
        Name of the response whose units were tested: the leading one, if there are several.
    """

    without: tuple[Changed, ...]
    only: tuple[Changed, ...]
    flip_set: FlipSet | None
    response: str | None = None


# The largest relative difference between a probability and the one that its link leads back to.
_SAME = 1e-4


def chosen(units: Iterable[int], n: int) -> tuple[int, ...]:
    """Return indices of some of n units, each once.

    Raises
    ------
    OptionError
        If they are not an iterable, or one is not an integer from 0 to n - 1.
    """
    if not isinstance(units, Iterable):
        raise OptionError(f"units is {units!r:.80}, expected a list of indices, as in [0]")
    result = []
    for unit in units:
        if not is_integer(unit) or not 0 <= unit < n:
            raise OptionError(f"unit is {unit!r:.80}, expected the index of a unit, from 0 to {n - 1}")
        result.append(int(unit))
    return tuple(dict.fromkeys(result))


def expected_response(attribution: "Attribution", units: Iterable[int]) -> float | None:
    """Return the response that the scores lead to expect with these units masked.

    None if the scores have no sign, are not estimates, or are effects on the responses of several windows.
    """
    first, out = attribution.responses[0], chosen(units, len(attribution.units))
    if (
        not attribution.signed
        or attribution.windows
        or (first.scores and all(error is None for error in first.standard_errors))
    ):
        return None
    return first.value - fsum(first.scores[unit] for unit in out)


def expected_probability(attribution: "Attribution", response: float) -> float | None:
    """Return the probability of the explained class at which its link has the value `response`.

    None for a value, for a contrast, and if other classes decide it, too: the margin of three or more classes, and the
    logit of one class out of several whose probabilities sum to 1.
    """
    inverse, own = _INVERSES.get(attribution.link), attribution.target_probability
    if inverse is None or own is None or attribution.responses[0].against is not None:
        return None
    if attribution.link == "margin" and len(attribution.prediction.probabilities) > 2:
        return None
    if attribution.link == "logit" and not isclose(inverse(attribution.response), own, rel_tol=_SAME):
        return None
    return inverse(response)


def _bounded(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value)) if value > 0 else exp(value) / (1 + exp(value))


_INVERSES: Mapping[str, Callable[[float], float]] = {
    "probability": _bounded,
    "log-probability": lambda value: exp(min(value, 0.0)),
    "logit": _sigmoid,
    "margin": _sigmoid,
}

# Codes of notes that alone make a result one to read with care, and that of a text in which nothing matters.
CAUTIONS = frozenset({"constant", "few-samples", "floored", "poor-fit", "sorted-columns"})
NEGLIGIBLE = "negligible"

# Chosen on validation texts (experiments/places.py): of the places called certain more than 97 % then hold.
_LEAST = 0.9
_PAIRS = 200

# Round to 6 digits before ranking: a difference below rounding orders no words.
_DIGITS = 6
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an explanation is reliable or to be read with care, and why.

    Attributes
    ----------
    reliable
        Whether at least one place is certain, and no note speaks against the scores.
    reasons
        Why, one clause each.
    certain
        How many places are certain: another seed would very probably find the same set of so many strongest units, with
        the same signs. At most as many as displays list.
    matters
        Whether any copy that was asked changes the response by more than a trifle.
    """

    reliable: bool
    reasons: tuple[str, ...]
    certain: int = 0
    matters: bool = True

    @property
    def head(self) -> str:
        """The verdict in a word or two."""
        return "reliable" if self.reliable else "read with care" if self.matters else "nothing matters"

    def __str__(self) -> str:
        return f"{self.head}: {'; '.join(self.reasons)}"


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
    for note in notes:
        if note.code == NEGLIGIBLE:
            return Verdict(False, (note.message,), matters=False)
    if not scores.size or not scores.any():
        return Verdict(False, doubts or (f"the text has no {noun}s" if not scores.size else "all scores are 0",))
    if response.r2 is None and not doubts:
        return Verdict(False, ("how much of the model's behaviour the scores explain was not measured",))
    certain = certain_places(scores, errors)
    places = _places(certain, scores.size, noun) if errors.any() else "the scores have no sampling error"
    return Verdict(certain > 0 and not doubts, (*doubts, places), certain)


def certain_places(scores: Floats, errors: Floats) -> int:
    """Return the largest k for which another seed would find the same k strongest words, with the same signs.

    Scores of another seed are drawn 400 times from normal distributions around these scores, with the variance of the
    difference between two seeds. The set and the signs of the k words of largest absolute score have to be the same in
    at least 90 % of the draws. The draws are 200 pairs of opposite deviations, so that scores of opposite signs, as for
    the other of two classes, are as certain.

    Parameters
    ----------
    scores, errors
        Scores and their standard errors `(w,)`, those between seeds.

    Examples
    --------
    >>> certain_places(np.array([3.0, 2.0, 0.5, 0.5, 0.5]), np.array([0.1, 0.1, 0.1, 0.1, 0.1]))
    2
    """
    most = _most(scores.size)
    listed = np.argsort(-np.abs(scores), kind="stable")[:most]
    noise = np.random.Generator(np.random.PCG64(0)).standard_normal((_PAIRS, scores.size))
    noise = np.concatenate([noise, -noise])
    with np.errstate(over="ignore", invalid="ignore"):  # errors near the largest float: no word stays
        drawn = scores + np.sqrt(2) * errors * noise
        strength = np.abs(drawn)
        strength = np.round(strength / (strength.max(axis=1, keepdims=True) + _TINY), _DIGITS)
    # The weakest of the first k has to be above, or equal to, the strongest of all others.
    weakest = np.minimum.accumulate(strength[:, listed], axis=1)
    others = np.delete(strength, listed, axis=1).max(axis=1, initial=0.0)
    after = np.maximum.accumulate(np.column_stack([others, strength[:, listed[:0:-1]]]), axis=1)[:, ::-1]
    signs = np.logical_and.accumulate(np.sign(drawn[:, listed]) == np.sign(scores[listed]), axis=1)
    held = ((weakest >= after) & signs & (scores[listed] != 0)).mean(axis=0)
    return int(np.flatnonzero(np.append(True, held >= _LEAST))[-1])


def _most(n_words: int) -> int:
    """Return how many places are judged: as many as displays list, and all but one, as the rest is then certain."""
    return min(LISTED, max(1, n_words - 1))


def _places(certain: int, n_words: int, noun: str) -> str:
    """Return which places are certain."""
    if not certain:
        return f"no place is certain: another seed may find another strongest {noun}"
    if n_words == 1:
        return f"the only {noun} has a certain sign"
    told = f"the strongest {noun} is certain" if certain == 1 else f"the {certain} strongest {noun}s are certain"
    return told if certain == _most(n_words) else f"{told}, {_ordinal(certain + 1)} place is open"


def _ordinal(number: int) -> str:
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"
