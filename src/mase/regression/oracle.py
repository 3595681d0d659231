"""The oracle over a probe: what `mase.regression.procedure.Oracle` promises, by way of `mase.models.batching`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Note
from mase.errors import CapabilityError
from mase.links import FLOOR, Link, floored, respond
from mase.models.batching import ask, ask_exchanged, ask_gradients, ask_norms
from mase.models.protocol import (
    AttributionProbe,
    ExchangeProbe,
    GradientProbe,
    NormProbe,
    Probe,
    RememberingProbe,
    SeededProbe,
)
from mase.regression.consistency import Consistency

__all__ = ["ProbeOracle"]

R = TypeVar("R", Floats, Ints)


@dataclass(slots=True)
class ProbeOracle:
    """One target of a probe under one link, asked about its `active` coordinates `(p,)`; the others stay at 1.

    It is the one value here that changes: it counts the evaluations and the gradients that it was asked for. Rows are
    numbered on from question to question, so that a design gets the same noise in one round or in several.

    With a record of `consistency` the first question has one more row, the text itself, whose answer must be that of
    the text alone; in a space that is not `binary` its last row is asked again, alone. `told` is the response at the
    text, where that was asked anew.
    """

    probe: Probe
    method: str
    link: Link
    target: int
    active: Ints
    batch_size: int | None = None
    n_rows: int = 0
    n_queries: int = 0
    n_gradients: int = 0
    n_floored: int = 0
    binary: bool = True
    consistency: Consistency | None = None
    told: float | None = None

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.active)

    @property
    def text(self) -> float:
        """Response at the text itself; costs nothing."""
        return self._response(self.probe.start) if self.told is None else self.told

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`."""
        first, whole = self._count(len(coordinates)), self._spread(coordinates)
        if (
            not self.binary
        ):  # rows that are centred at the text, or have noise of their own, say nothing of the text itself
            answers = ask(self.probe, whole, self.batch_size, first)
            self._compare_last(whole, answers, first)
            return self._respond(answers)
        question = partial(ask, self.probe, batch_size=self.batch_size, first=first)
        return self._respond(self._watched(question, whole, _text(self.probe)))

    def retold(self, seed: int) -> "ProbeOracle":
        """Return an oracle of the same question that starts to count at 0, for which the text itself was asked anew, alone."""
        probe = self.probe.seeded(seed) if isinstance(self.probe, SeededProbe) else self.probe
        return replace(self.fresh(probe), told=self._alone(_text(probe), 0, probe))

    def _watched(self, question: Callable[[R], Floats], points: R, text: R) -> Floats:
        """Return the answers `(n, k)` to points `(n, p)`; the first time, the `text` itself is asked with them and compared."""
        watch = self.consistency
        if watch is None or watch.asked or not len(points):
            return question(points)
        self.n_queries += 1
        # In the first batch, where all is new, and second there: a first row would get the same random numbers again.
        answers = question(np.insert(points, 1, text[0], axis=0))
        again = partial(self._again, _text(self.probe), 0)
        watch.compare(self._response(self.probe.start), self._response(answers[1:2]), again)
        return np.delete(answers, 1, axis=0)

    def _compare_last(self, rows: Floats, answers: Floats, number: int) -> None:
        """Compare the answer to the last of some rows with that to the same row alone, the first time."""
        watch = self.consistency
        if watch is not None and not watch.asked and len(rows):
            last = len(rows) - 1
            again = partial(self._again, rows[last:], number + last)
            watch.compare(self._alone(rows[last:], number + last, self.probe), self._response(answers[last:]), again)

    def _again(self, row: Floats, number: int) -> tuple[float, ...]:
        """Return responses at one row `(1, p)`, asked alone: from two random states, if the model has to be given any."""
        probe = self.probe
        if isinstance(probe, RememberingProbe):
            probe = probe.afresh(remember=False)
        probes = (probe.seeded(0), probe.seeded(1)) if isinstance(probe, SeededProbe) else (probe,)
        return tuple(self._alone(row, number, one) for one in probes)

    def _alone(self, row: Floats, number: int, probe: Probe) -> float:
        """Return the response at one row `(1, p)`, asked alone."""
        self.n_queries += 1
        return self._response(ask(probe, row, 1, number))

    def _response(self, scores: Floats) -> float:
        return float(respond(scores, self.probe.output, self.link, self.target)[0])

    def gradients(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return responses `(n,)` and their derivatives `(n, p)` at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        if not isinstance(self.probe, GradientProbe):
            raise self._no_gradients()
        first = self._count(len(coordinates), gradients=True)
        scores, slopes = ask_gradients(self.probe, self._spread(coordinates), self.link, self.target, self._size, first)
        return self._respond(scores), slopes[:, self.active]

    def derivatives(self, coordinates: Floats) -> Floats:
        """Return the derivatives `(n, p)` of the response by the coordinates."""
        return self.gradients(coordinates)[1]

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return the norms `(n, p)` of the response's gradient by the vectors of each word.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        if not isinstance(self.probe, NormProbe):
            raise self._no_gradients()
        first = self._count(len(coordinates), gradients=True)
        return ask_norms(self.probe, self._spread(coordinates), self.link, self.target, self._size, first)[
            :, self.active
        ]

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` where word i has the content of word `sources[:, i]`.

        Raises
        ------
        CapabilityError
            If the probe cannot exchange words.
        """
        probe = self.probe
        if not isinstance(probe, ExchangeProbe):
            raise CapabilityError(
                f"method {self.method!r} exchanges words, which this model cannot; use method='occlusion'"
            )
        whole = np.tile(np.arange(len(probe.widths)), (len(sources), 1))
        whole[:, self.active] = self.active[sources]
        self._count(len(sources))
        text = np.arange(whole.shape[1])[None]
        return self._respond(self._watched(lambda rows: ask_exchanged(probe, rows, self._size), whole, text))

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)`; costs one gradient of the text and its reference.

        Raises
        ------
        CapabilityError
            If the probe has no rules for its layers.
        """
        if not isinstance(self.probe, AttributionProbe):
            raise CapabilityError(
                f"method {self.method!r} is for the bundled LSTM classifiers, which this model is not; use 'kernel-shap'"
            )
        found = self.probe.contributions(self.link, self.target)[self.active]
        self._count(2, gradients=True)
        return found

    def fresh(self, probe: Probe | None = None) -> "ProbeOracle":
        """Return an oracle of the same question that starts to count at 0, over another probe if one is given."""
        return replace(
            self, probe=probe or self.probe, n_rows=0, n_queries=0, n_gradients=0, n_floored=0, consistency=None
        )

    @property
    def _size(self) -> int:
        return self.batch_size or self.probe.batch_size

    def _no_gradients(self) -> CapabilityError:
        return CapabilityError(
            f"method {self.method!r} needs the model's gradients, which this model does not give; use method='mase'"
        )

    def _count(self, n: int, *, gradients: bool = False) -> int:
        """Return the number of the next row and count n more."""
        first = self.n_rows
        self.n_rows += n
        self.n_queries += n
        self.n_gradients += n if gradients else 0
        return first

    def _spread(self, coordinates: Floats) -> Floats:
        """Return the coordinates of all words, 1 for those that are not asked about."""
        if self.size == len(self.probe.widths):
            return coordinates
        whole = np.ones((len(coordinates), len(self.probe.widths)))
        whole[:, self.active] = coordinates
        return whole

    def remarks(self) -> tuple[Note, ...]:
        """Return what a reader must know of the answers."""
        if not self.n_floored:
            return ()
        message = (
            f"{self.n_floored} of {self.n_queries} answers had a probability below {FLOOR:g}, whose logarithm may be "
            f"infinite: it was counted as {FLOOR:g}; give logits (outputs='logits') if there are any, or link='probability'"
        )
        return (Note("floored", message),)

    def _respond(self, scores: Floats) -> Floats:
        self.n_floored += int(floored(scores, self.probe.output, self.link, self.target).sum())
        return respond(scores, self.probe.output, self.link, self.target)


def _text(probe: Probe) -> Floats:
    """Return the coordinates `(1, p)` of the text itself."""
    return np.ones((1, len(probe.widths)))
