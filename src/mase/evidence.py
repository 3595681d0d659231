"""Test an explanation on its model: mask the best units, keep only the best, and look for a set that flips it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Protocol

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.evidence import NO_LABEL, Changed, Evidence, FlipSet
from mase.defaults import is_integer
from mase.errors import OptionError
from mase.links import Contrast, Output
from mase.models.base import Probe
from mase.models.batching import UNWATCHED, Watch, ask
from mase.responses import predictions, respond
from mase.solve.oracle import KnownScores

# Beyond the K best units, so many are masked one after another in search of a set that flips the prediction.
_FURTHER = 10

# How many answers of a model that answers differently each time make a mean.
_REPEATS = 5
_MOST = 100
# The largest share of the samples that is kept for evidence.
_LARGEST_SHARE = 0.2
_FEW = 50


def check_evidence(k: int) -> int:
    """Return the number of units to test."""
    if not is_integer(k) or not 0 <= k <= _MOST:
        raise OptionError(
            f"evidence is {k!r}, expected an integer from 0 to {_MOST}: how many of the best units to test"
        )
    return int(k)


def n_for_scores(n_samples: int, k: int, *, few: int = _FEW) -> int:
    """Return how many of n samples are left for a method when evidence about the best k units is gathered too.

    A method of fewer than 50 samples, such as one of gradients, keeps them all. Evidence then comes on top. `few` is
    another such number.

    Examples
    --------
    >>> n_for_scores(1000, 5), n_for_scores(100, 5)
    (965, 80)
    """
    return n_samples if not k or n_samples < few else n_samples - min(_wanted(k), int(_LARGEST_SHARE * n_samples))


def n_for_evidence(n_samples: int, k: int, *, few: int = _FEW) -> int:
    """Return the number of evaluations, of n samples, for evidence about the best k units."""
    return _wanted(k) if n_samples < few else n_samples - n_for_scores(n_samples, k, few=few)


def _wanted(k: int) -> int:
    return 3 * k + 2 * _FURTHER


class Reading(Protocol):
    """What the scores of a model say: its prediction, and the explained number."""

    @property
    def of_values(self) -> bool:
        """Whether the model returns values, which are no probabilities."""
        ...

    @property
    def ranked(self) -> bool:
        """Whether values belong to classes, of which that with the largest one is predicted."""
        ...

    @property
    def multilabel(self) -> bool:
        """Whether the classes are separate questions: one is predicted if its probability is at least 0.5."""
        ...

    def predictions(self, scores: Floats) -> Floats:
        """Return class probabilities or values `(n, k)` from scores of n rows."""
        ...

    def responses(self, scores: Floats) -> Floats:
        """Return the explained numbers `(n,)` from scores of n rows."""
        ...

    def best(self, scores: Floats) -> int:
        """Return the most probable class from the scores of a row."""
        ...


@dataclass(frozen=True, slots=True)
class ModelReading:
    """The reading of the scores `(n, k)` of a model.

    Attributes
    ----------
    output
        What the columns of the scores are.
    link, target
        The link that is explained, and the index of its class.
    """

    output: Output
    link: str | Contrast
    target: int

    @property
    def of_values(self) -> bool:
        """Whether the model returns values, which are no probabilities."""
        return not self.output.has_classes

    @property
    def ranked(self) -> bool:
        """Whether values belong to classes."""
        return self.output.ranked

    @property
    def multilabel(self) -> bool:
        """Whether the classes are separate questions."""
        return self.output.multilabel

    def predictions(self, scores: Floats) -> Floats:
        """Return class probabilities or values `(n, k)` from scores `(n, k)`."""
        return predictions(scores, self.output)

    def responses(self, scores: Floats) -> Floats:
        """Return the explained numbers `(n,)` from scores `(n, k)`."""
        return respond(scores, self.output, self.link, self.target)

    def best(self, scores: Floats) -> int:
        """Return the most probable class of scores `(k,)`."""
        return int(np.argmax(scores))


@dataclass(slots=True)
class MaskedPredictions:
    """Predictions of a model for one document with some of its units masked.

    Attributes
    ----------
    probe
        The model bound to the document, in a space in which coordinate 0 masks a unit.
    coordinates
        The coordinates of each unit.
    labels
        Names of the k classes.
    target, link
        Index of the explained class, and the link that is explained.
    known
        Scores of rows that were asked before, which cost nothing. New ones are added.
    budget
        Number of rows that may still be asked.
    batch_size
        Rows per batch; None for the probe's.
    n_asked
        Number of rows that were asked, and evaluations of the setup.
    watch
        Who is told of the batches.
    other_reading
        How the scores are read, if not by the output of the probe and the link.
    noisy
        Whether the model answers a row differently each time.
    """

    probe: Probe
    coordinates: Sequence[Ints]
    labels: Sequence[str]
    target: int
    link: str | Contrast
    known: KnownScores
    budget: int
    batch_size: int | None = None
    n_asked: int = 0
    watch: Watch = UNWATCHED
    other_reading: Reading | None = None
    noisy: bool = False

    def __post_init__(self) -> None:
        self.known.with_text(self.probe.start, len(self.probe.scale))

    @property
    def reading(self) -> Reading:
        """How the scores are read."""
        return self.other_reading or ModelReading(self.probe.output, self.link, self.target)

    def evidence(self, order: Sequence[int], k: int) -> Evidence:
        """Return the predictions without the best 1 to k units of an order and from them alone, and a flip set."""
        best = [tuple(order[:size]) for size in range(1, min(k, len(order), self.budget // 2) + 1)]
        scores = self.scores([*map(self._without, best), *map(self._only, best)])
        return Evidence(
            tuple(map(self._changed, best, scores[: len(best)])),
            tuple(map(self._changed, best, scores[len(best) :])),
            self._flip_set(order, k),
            self.labels[self.target],
        )

    def without(self, units: tuple[int, ...]) -> Changed:
        """Return the prediction with these units masked, whatever the budget is."""
        return self._changed(units, self.scores([self._without(units)])[0])

    def _flip_set(self, order: Sequence[int], k: int) -> FlipSet | None:
        """Return the shortest beginning of the order that flips the prediction, without the units it does not need."""
        predicts = self.reading.ranked or not self.reading.of_values
        if not predicts or self._is_other(self.probe.start[0]):
            return None
        beginnings = self._affordable([tuple(order[:size]) for size in range(1, min(k + _FURTHER, len(order)) + 1)])
        flips = self._flips(beginnings)
        flipping = [units for units, flip in zip(beginnings, flips, strict=True) if flip]
        if self.noisy:
            return self._flip_set_in_the_mean(flipping)
        return self._smallest(order, self._needed(flipping[0])) if flipping else None

    def _flip_set_in_the_mean(self, sets: Sequence[tuple[int, ...]]) -> FlipSet | None:
        """Return the first set that changes the mean prediction of several answers, while the budget lasts."""
        for units in sets:
            if self.budget < _REPEATS - 1:
                return None
            row = self._without(units)
            scores = np.mean([*self.scores([row]), *self._ask(self._table([row] * (_REPEATS - 1)))], axis=0)
            if self._is_other(scores):
                return FlipSet(units, *self._told(scores), smallest=False)
        return None

    def _needed(self, units: tuple[int, ...]) -> tuple[int, ...]:
        """Return a set that flips the prediction without the units that it does not need, while the budget lasts."""
        tried: set[tuple[int, ...]] = set()
        for unit in units[::-1] * len(units):
            rest = tuple(other for other in units if other != unit)
            if unit not in units or rest in tried or not rest or not self.budget:
                continue
            tried.add(rest)
            if self._flips([rest])[0]:
                units = rest
        return units

    def _smallest(self, order: Sequence[int], units: tuple[int, ...]) -> FlipSet:
        """Return these units as a flip set, or a smaller one if the model was asked for all smaller ones."""
        smallest = True
        for size in range(1, len(units)):
            if comb(len(order), size) > len(self.known):
                smallest = False
                break
            smaller = list(combinations(order, size))
            asked = self.known.get(self._table([self._without(some) for some in smaller]))
            result = (
                some
                for some, scores in zip(smaller, asked, strict=True)
                if scores is not None and self._is_other(scores)
            )
            units = next(result, units)
            if len(units) == size:
                break
            smallest = all(scores is not None for scores in asked)
            if not smallest:
                break
        (scores,) = self.scores([self._without(units)])
        return FlipSet(units, *self._told(scores), smallest)

    def _affordable(self, sets: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
        """Return the first sets, as many as can be masked within the budget."""
        asked = self.known.get(self._table([self._without(units) for units in sets]))
        new = np.cumsum([scores is None for scores in asked])
        return sets[: int(np.searchsorted(new, self.budget, side="right"))]

    def _flips(self, sets: Sequence[tuple[int, ...]]) -> list[bool]:
        return [self._is_other(scores) for scores in self.scores([self._without(units) for units in sets])]

    def _is_other(self, scores: Floats) -> bool:
        if self.reading.multilabel:
            return bool(self.reading.predictions(scores[None])[0, self.target] < 0.5)
        return self._told(scores)[0] != self.labels[self.target]

    def _told(self, scores: Floats) -> tuple[str, float | None]:
        """Return the class that is told of and its probability: the predicted one, or of separate questions the target.

        It is `NO_LABEL` if more answers of a chat model have no label than any label has. Values have no probability.
        """
        if self.reading.of_values:
            return self.labels[self.reading.best(scores) if self.reading.ranked else self.target], None
        probabilities = self.reading.predictions(scores[None])[0]
        told = self.target if self.reading.multilabel else self.reading.best(scores)
        unread = 1 - float(probabilities.sum()) if self.probe.answers_only else 0.0
        if unread > probabilities[told]:
            return NO_LABEL, unread
        return self.labels[told], float(probabilities[told])

    def _changed(self, units: tuple[int, ...], scores: Floats) -> Changed:
        response = float(self.reading.responses(scores[None])[0])
        own = None if self.reading.of_values else float(self.reading.predictions(scores[None])[0, self.target])
        return Changed(units, *self._told(scores), own, response)

    def _without(self, units: Iterable[int]) -> Floats:
        row = np.ones(len(self.probe.scale))
        for unit in units:
            row[self.coordinates[unit]] = 0.0
        return row

    def _only(self, units: Iterable[int]) -> Floats:
        row = np.zeros(len(self.probe.scale))
        for unit in units:
            row[self.coordinates[unit]] = 1.0
        return row

    def scores(self, rows: Sequence[Floats]) -> list[Floats]:
        """Return the scores `(k,)` of each row `(p,)`; those that were not asked are asked in one batch."""
        if not rows:
            return []
        return list(self.known.complete(self._table(rows), self._ask))

    def _ask(self, rows: Floats) -> Floats:
        self.n_asked += len(rows)
        self.budget = max(0, self.budget - len(rows))
        return ask(self.probe, rows, self.batch_size, 0, watch=self.watch)

    def _table(self, rows: Sequence[Floats]) -> Floats:
        """Return rows as a matrix, with 1 for the coordinates without effect, as where they were asked before."""
        return np.where(self.probe.scale == 0, 1.0, np.array(rows))
