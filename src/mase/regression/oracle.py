"""The oracle: one text, one model and one class, asked about coordinates, with every evaluation counted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution import Note
from mase.errors import CapabilityError
from mase.links import Link, floored, respond
from mase.models.batching import ask, ask_exchanged, ask_gradients, ask_norms
from mase.models.protocol import (
    AttributionProbe,
    ExchangeProbe,
    GradientProbe,
    HalfProbe,
    Probe,
    RememberingProbe,
    SeededProbe,
)
from mase.regression.consistency import Consistency
from mase.regression.cost import Cost
from mase.regression.precision import AUTO, NO_INSTRUCTIONS, Precision, QueryOptions, too_noisy, trial_rows

__all__ = ["Oracle"]

R = TypeVar("R", Floats, Ints)


@dataclass(slots=True)
class Oracle:
    """One class of a probe under one link, asked about its `active` coordinates `(p,)`; the others stay at 1.

    Every question is asked in micro-batches, halved when memory runs out, checked to be finite, and counted. The oracle
    is the one value here that changes. Rows are numbered on from question to question, so that a design gets the same
    noise in one round or in several. Copies made by `again` share its `cost`.

    Attributes
    ----------
    options
        Rows per forward pass, and the precision that is wanted: half precision is tried on the first question's rows.
    consistency
        Where it is given, the first question has one more row, the text itself, whose answer must be that of the text
        alone; in a space that is not `binary` its last row is asked again, alone.
    anew
        The response at the text, where that was asked anew.
    """

    probe: Probe
    method: str
    link: Link
    target: int
    active: Ints
    binary: bool = True
    options: QueryOptions = AUTO
    consistency: Consistency | None = None
    anew: float | None = None
    cost: Cost = field(default_factory=Cost)
    n_rows: int = 0
    half: bool = False
    tried: tuple[Note, ...] = ()

    @classmethod
    def of(
        cls, probe: Probe, method: str, link: Link, target: int, moving: Bools, *, binary: bool, options: QueryOptions
    ) -> "Oracle":
        """Return the oracle about the coordinates that are `moving` `(p,)`; what binding cost is counted."""
        return cls(probe, method, link, target, np.flatnonzero(moving), binary, options, cost=Cost(probe.n_setup))

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.active)

    @property
    def scale(self) -> Floats:
        """Standard deviation per unit of sigma of every coordinate of the probe; 0 for those that are not asked about."""
        scale = np.zeros(len(self.probe.scale))
        scale[self.active] = self.probe.scale[self.active]
        return scale

    @property
    def text(self) -> float:
        """Response at the text itself, all coordinates 1; it was asked when the text was bound and costs nothing."""
        return self._response(self.probe.start) if self.anew is None else self.anew

    @property
    def probability(self) -> float:
        """Probability of the class at the text itself."""
        return float(respond(self.probe.start, self.probe.output, "probability", self.target)[0])

    @property
    def precision(self) -> Precision:
        """The precision in which the model answers."""
        return "bfloat16" if self.half else "float32"

    @property
    def notes(self) -> tuple[Note, ...]:
        """What a reader must know of the answers so far."""
        return (*self.cost.notes, *self.tried)

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`: 1 is a word of the text, 0 its reference."""
        self._try_half_precision(coordinates)
        first, whole = self._count(len(coordinates)), self._spread(coordinates)
        if (
            not self.binary
        ):  # rows that are centred at the text, or have noise of their own, say nothing of the text itself
            answers = ask(self.probe, whole, self.options.rows, first)
            self._compare_last(whole, answers, first)
            return self._respond(answers)
        question = partial(ask, self.probe, batch_size=self.options.rows, first=first)
        return self._respond(self._watched(question, whole, _text(self.probe)))

    def response_at(self, level: float) -> float:
        """Return the response where every coordinate is `level`, in full precision; its row has no number."""
        self.cost.n_queries += 1
        row = self._spread(np.full((1, self.size), level))
        return self._response(ask(self.probe, row, self.options.rows, 0))

    def gradients(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return responses `(n,)` and their derivatives `(n, p)` at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        probe = self._differentiable()
        first = self._count(len(coordinates), gradients=True)
        rows = self._spread(coordinates)
        scores, slopes = ask_gradients(probe, rows, self.link, self.target, self._batch_size, first)
        return self._respond(scores), slopes[:, self.active]

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return for each word the Euclidean norm `(n, p)` of the response's gradient by all entries of its vectors.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        probe = self._differentiable()
        first = self._count(len(coordinates), gradients=True)
        rows = self._spread(coordinates)
        return ask_norms(probe, rows, self.link, self.target, self._batch_size, first)[:, self.active]

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` where word i stands with the content of word `sources[:, i]`, for sources `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe cannot exchange words.
        """
        self._try_half_precision()
        probe = self.probe
        if not isinstance(probe, ExchangeProbe):
            raise CapabilityError(
                f"method {self.method!r} exchanges words, which this model cannot; use method='occlusion'"
            )
        whole = np.tile(np.arange(len(probe.scale)), (len(sources), 1))
        whole[:, self.active] = self.active[sources]
        self._count(len(sources))
        text = np.arange(whole.shape[1])[None]
        return self._respond(self._watched(lambda rows: ask_exchanged(probe, rows, self._batch_size), whole, text))

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)` to response minus response at the reference; costs two gradients.

        Raises
        ------
        CapabilityError
            If the probe has no rules for its layers.
        """
        if not isinstance(self.probe, AttributionProbe):
            raise CapabilityError(
                f"method {self.method!r} is for the bundled LSTM classifiers, which this model is not; use 'kernel-shap'"
            )
        self._keep_full_precision()
        found = self.probe.contributions(self.link, self.target)[self.active]
        self._count(2, gradients=True)
        return found

    def again(self, probe: Probe | None = None, *, rows: int | None = None) -> "Oracle":
        """Return an oracle of the same question from its first row on, over another probe or with other batches."""
        options = self.options if rows is None else replace(self.options, batch_size=rows)
        return replace(
            self, probe=probe or self.probe, options=options, n_rows=0, half=False, tried=(), consistency=None
        )

    def asked_anew(self, seed: int) -> "Oracle":
        """Return an oracle of the same question for which the text itself was asked anew, alone."""
        probe = self.probe.seeded(seed) if isinstance(self.probe, SeededProbe) else self.probe
        oracle = self.again(probe)
        oracle.anew = oracle._alone(_text(probe), 0, probe)
        return oracle

    def _try_half_precision(self, rows: Floats | None = None) -> None:
        """Answer in half precision from now on, if that is wanted, fast, and precise enough on rows of the question."""
        if self.options.precision == "float32" or self.half or self.tried:
            return
        if not isinstance(self.probe, HalfProbe):
            raise CapabilityError(
                "half precision is for torch models, expected precision='float32' for a function of texts"
            )
        half, reason = self.probe.half(), NO_INSTRUCTIONS
        if half is not None:
            rows = trial_rows(rows, self.size)
            full = replace(self, options=replace(self.options, precision="float32"), n_rows=0)
            reason = too_noisy(full.responses(rows), full.again(half).responses(rows))
        if half is None or reason is not None:
            self.tried = (Note("float32-instead", f"{reason}: float32 was used"),)
        else:
            self.probe, self.half = half, True

    def _keep_full_precision(self) -> None:
        """Say that gradients are taken in full precision, if half precision was wanted."""
        if self.options.precision != "float32" and not self.tried:
            message = "half precision is for answers; gradients were taken in float32"
            self.tried = (Note("float32-instead", message),)

    def _watched(self, question: Callable[[R], Floats], points: R, text: R) -> Floats:
        """Return the answers `(n, k)` to points `(n, p)`; the first time, the `text` itself is asked with them and compared."""
        watch = self.consistency
        if watch is None or watch.asked or not len(points):
            return question(points)
        self.cost.n_queries += 1
        # In the first batch, where all is new, and second there: a first row would get the same random numbers again.
        answers = question(np.insert(points, 1, text[0], axis=0))
        again = partial(self._asked_alone, _text(self.probe), 0)
        watch.compare(self._response(self.probe.start), self._response(answers[1:2]), again)
        return np.delete(answers, 1, axis=0)

    def _compare_last(self, rows: Floats, answers: Floats, number: int) -> None:
        """Compare the answer to the last of some rows with that to the same row alone, the first time."""
        watch = self.consistency
        if watch is not None and not watch.asked and len(rows):
            last = len(rows) - 1
            again = partial(self._asked_alone, rows[last:], number + last)
            watch.compare(self._alone(rows[last:], number + last, self.probe), self._response(answers[last:]), again)

    def _asked_alone(self, row: Floats, number: int) -> tuple[float, ...]:
        """Return responses at one row `(1, p)`, asked alone: from two random states, if the model has to be given any."""
        probe = self.probe
        if isinstance(probe, RememberingProbe):
            probe = probe.afresh(remember=False)
        probes = (probe.seeded(0), probe.seeded(1)) if isinstance(probe, SeededProbe) else (probe,)
        return tuple(self._alone(row, number, one) for one in probes)

    def _alone(self, row: Floats, number: int, probe: Probe) -> float:
        """Return the response at one row `(1, p)`, asked alone."""
        self.cost.n_queries += 1
        return self._response(ask(probe, row, 1, number))

    def _response(self, scores: Floats) -> float:
        return float(respond(scores, self.probe.output, self.link, self.target)[0])

    def _respond(self, scores: Floats) -> Floats:
        self.cost.n_floored += int(floored(scores, self.probe.output, self.link, self.target).sum())
        return respond(scores, self.probe.output, self.link, self.target)

    @property
    def _batch_size(self) -> int:
        return self.options.rows or self.probe.batch_size

    def _differentiable(self) -> GradientProbe:
        if not isinstance(self.probe, GradientProbe):
            raise CapabilityError(
                f"method {self.method!r} needs the model's gradients, which this model does not give; use method='mase'"
            )
        self._keep_full_precision()
        return self.probe

    def _count(self, n: int, *, gradients: bool = False) -> int:
        """Return the number of the next row and count n more."""
        first = self.n_rows
        self.n_rows += n
        self.cost.n_queries += n
        self.cost.n_gradients += n if gradients else 0
        return first

    def _spread(self, coordinates: Floats) -> Floats:
        """Return the coordinates of all words, 1 for those that are not asked about."""
        if self.size == len(self.probe.scale):
            return coordinates
        whole = np.ones((len(coordinates), len(self.probe.scale)))
        whole[:, self.active] = coordinates
        return whole


def _text(probe: Probe) -> Floats:
    """Return the coordinates `(1, p)` of the text itself."""
    return np.ones((1, len(probe.scale)))
