"""Predictions for a long text with some of its units masked, pooled from those of its windows."""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Attribution, Unit
from mase.choices import Pooling
from mase.evidence import MaskedPredictions
from mase.links import Output
from mase.models.protocol import Opened
from mase.regression.known_scores import KnownScores
from mase.windows.long_text import WindowText
from mase.windows.pooling import pooled, weights

__all__ = ["MaskedWindow", "masked", "with_evidence"]


@dataclass(frozen=True, slots=True)
class MaskedWindow:
    """A window, its units, and the predictions for it with units masked, after `n_setup` evaluations."""

    window: WindowText
    units: Sequence[Unit]
    predictions: MaskedPredictions
    n_setup: int

    def overlapping(self, units: Sequence[Unit]) -> list[list[int]]:
        """Return for each unit of the window the indices of the units of the text that it overlaps."""
        found = []
        own = [(unit.end, index) for index, unit in enumerate(units) if unit.field == self.window.field]
        others = {unit: index for index, unit in enumerate(units) if unit.field != self.window.field}
        for unit in self.units:
            start, end = self.window.placed(unit)
            first = bisect_right(own, (start, len(units)))
            overlapping = [index for _, index in own[first:] if units[index].start < end]
            found.append(overlapping if unit.field == self.window.field else [others[unit]])
        return found


def masked(found: Attribution, windows: Sequence[MaskedWindow], n_rows: int) -> MaskedPredictions:
    """Return the pooled predictions for a long text with some of its units masked, from at most `n_rows` rows.

    A row costs one evaluation for each window that has one of the masked units.
    """
    first, units = windows[0].predictions, found.units
    probe = _WindowsProbe(windows, [window.overlapping(units) for window in windows], len(units))
    reading = _PooledReading([window.predictions for window in windows], found.method["pooling"], first.target)
    columns = [np.array([index]) for index in range(len(units))]
    return MaskedPredictions(
        probe, columns, first.labels, first.target, first.link, KnownScores(), n_rows, other_reading=reading
    )


def with_evidence(found: Attribution, windows: Sequence[MaskedWindow], k: int) -> Attribution:
    """Return the attribution of a long text with evidence about its best k units, for the pooled prediction."""
    n_rows = max(window.predictions.budget for window in windows)
    evidence = masked(found, windows, n_rows).evidence(found.responses[0].order, k)
    n_asked = sum(window.predictions.n_asked + window.n_setup for window in windows)
    return replace(found, evidence=evidence, fit=replace(found.fit, n_queries=found.fit.n_queries + n_asked))


@dataclass(frozen=True, slots=True)
class _WindowsProbe:
    """A long text with a coordinate for each unit; its scores are those of all windows. See `mase.models.protocol`."""

    windows: Sequence[MaskedWindow]
    overlapping: Sequence[Sequence[Sequence[int]]]
    n_units: int
    n_setup: int = 0
    batch_size: int = 64

    @property
    def output(self) -> Output:
        return self.windows[0].predictions.probe.output

    @property
    def scale(self) -> Floats:
        return np.ones(self.n_units)

    @property
    def start(self) -> Floats:
        return np.concatenate([window.predictions.probe.start for window in self.windows], axis=1)

    def opened(self) -> Opened:
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        del rows
        found = []
        for window, overlapping in zip(self.windows, self.overlapping, strict=True):
            own = np.ones((len(coordinates), len(window.predictions.probe.scale)))
            for unit, others in enumerate(overlapping):
                if others:
                    own[:, window.predictions.coordinates[unit]] = coordinates[:, others].min(axis=1)[:, None]
            found.append(np.array(window.predictions.scores(list(own))))
        return np.concatenate(found, axis=1)


@dataclass(frozen=True, slots=True)
class _PooledReading:
    """Reads the scores `(n, w k)` of w windows as one prediction. See `mase.evidence.Reading`."""

    windows: Sequence[MaskedPredictions]
    pooling: Pooling
    target: int

    @property
    def of_values(self) -> bool:
        return self.windows[0].reading.of_values

    @property
    def multilabel(self) -> bool:
        return self.windows[0].reading.multilabel

    def predictions(self, scores: Floats) -> Floats:
        return np.array([pooled(numbers, self.pooling) for numbers in self._numbers(scores)])

    def responses(self, scores: Floats) -> Floats:
        blocks = np.split(scores, len(self.windows), axis=1)
        responses = [window.reading.responses(block) for window, block in zip(self.windows, blocks, strict=True)]
        shares = [weights(numbers[:, [self.target]], self.pooling)[:, 0] for numbers in self._numbers(scores)]
        found: Floats = (np.array(shares) * np.transpose(responses)).sum(axis=1)
        return found

    def best(self, scores: Floats) -> int:
        return int(np.argmax(self.predictions(scores[None])[0]))

    def _numbers(self, scores: Floats) -> Floats:
        """Return the class probabilities or values `(n, w, k)` of the windows."""
        blocks = np.split(scores, len(self.windows), axis=1)
        return np.stack([self.windows[0].reading.predictions(block) for block in blocks], axis=1)
