"""The oracle: evaluates one model on one text and one class at given coordinates, and counts the evaluations."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution import Note
from mase.errors import CapabilityError
from mase.links import floored, respond
from mase.models.batching import ask, ask_exchanged, ask_gradients, ask_norms
from mase.models.protocol import (
    AttributionProbe,
    ExchangeProbe,
    GradientProbe,
    HalfProbe,
    Probe,
    RememberingProbe,
    SeededProbe,
)  # fmt: skip
from mase.regression.answers import Answers
from mase.regression.consistency import Consistency
from mase.regression.cost import Cost
from mase.regression.precision import AUTO, NO_INSTRUCTIONS, Precision, QueryOptions, too_noisy, trial_rows

__all__ = ["Oracle"]

R = TypeVar("R", Floats, Ints)


@dataclass(slots=True)
class Oracle:
    """The response of one class of a probe under one link, as a function of the `active` coordinates `(p,)`.

    All other coordinates stay at 1. Rows are evaluated in micro-batches, which are halved if memory runs out. Responses
    are checked to be finite, and every evaluation is counted. Row numbers continue from call to call, so that a design
    gets the same noise in one round or in several. The oracle is mutable; copies made by `again` share its `cost`.

    Attributes
    ----------
    options
        Batch size and requested precision. Half precision is tested on rows of the first call.
    consistency
        Where to record whether the model is consistent; None for no check. The first call evaluates the text itself
        once more with the other rows or, if the space is not `binary`, its own last row once more, alone.
    text_response
        The response at the text, if it was evaluated again; None for the response from when the text was bound.
    answers
        Where to keep the answers to rows of zeros and ones in full precision; None to keep none.
    solved
        Called after every round but the last one with a function that returns the `Solution` so far; None for nobody.
    """

    probe: Probe
    method: str
    link: str
    target: int
    active: Ints
    binary: bool = True
    options: QueryOptions = AUTO
    consistency: Consistency | None = None
    text_response: float | None = None
    answers: Answers | None = None
    solved: Callable[[Any], None] | None = None
    cost: Cost = field(default_factory=Cost)
    n_rows: int = 0
    half: bool | None = None
    full_because: str | None = None

    @classmethod
    def of(
        cls, probe: Probe, method: str, link: str, target: int, moving: Bools, *, binary: bool, options: QueryOptions
    ) -> "Oracle":
        """Return the oracle of the coordinates that are `moving` `(p,)`; the evaluations of the setup are counted."""
        return cls(probe, method, link, target, np.flatnonzero(moving), binary, options, cost=Cost(probe.n_setup))

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.active)

    @property
    def scale(self) -> Floats:
        """Standard deviation per unit of sigma of every coordinate of the probe; 0 for inactive coordinates."""
        scale = np.zeros(len(self.probe.scale))
        scale[self.active] = self.probe.scale[self.active]
        return scale

    @property
    def text(self) -> float:
        """Response at the text itself (all coordinates 1), which is known from when the text was bound."""
        return self._response(self.probe.start) if self.text_response is None else self.text_response

    @property
    def probability(self) -> float:
        """Probability of the class at the text itself."""
        return float(respond(self.probe.start, self.probe.output, "probability", self.target)[0])

    @property
    def precision(self) -> Precision:
        """The precision in which the model is evaluated."""
        return "bfloat16" if self.half else "float32"

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the evaluations so far."""
        full = self.full_because
        return (*self.cost.notes, *([] if full is None else [Note("float32-instead", f"{full}: float32 was used")]))

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`: 1 is a word of the text, 0 its reference."""
        self._try_half_precision(coordinates)
        first, rows = self._count(len(coordinates)), self._all_coordinates(coordinates)
        if not self.binary:
            # Rows of such a space are close to the text or add noise, so the last row is the better check.
            scores = ask(self.probe, rows, self.options.rows, first, watch=self.cost)
            self._compare_last(rows, scores, first)
            return self._respond(scores)
        evaluate = partial(ask, self.probe, batch_size=self.options.rows, first=first, watch=self.cost)
        scores = self._checked(evaluate, rows, np.ones((1, rows.shape[1])))
        if self.answers is not None and not self.half:
            self.answers.add(rows, scores)
        return self._respond(scores)

    def response_at(self, level: float) -> float:
        """Return the response with every coordinate at `level`, in full precision; the row gets no number."""
        self.cost.n_queries += 1
        row = self._all_coordinates(np.full((1, self.size), level))
        return self._response(ask(self.probe, row, self.options.rows, 0, watch=self.cost))

    def gradients(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return responses `(n,)` and their derivatives `(n, p)` at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        probe = self._differentiable()
        first, rows = self._count(len(coordinates), gradients=True), self._all_coordinates(coordinates)
        options = (self.link, self.target, self._batch_size, first)
        scores, slopes = ask_gradients(probe, rows, *options, watch=self.cost)
        return self._respond(scores), slopes[:, self.active]

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return the Euclidean norms `(n, p)` of the response's gradient with respect to the vectors of each word.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        probe = self._differentiable()
        first, rows = self._count(len(coordinates), gradients=True), self._all_coordinates(coordinates)
        return ask_norms(probe, rows, self.link, self.target, self._batch_size, first, watch=self.cost)[:, self.active]

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` with word i replaced by word `sources[:, i]`, for sources `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe cannot exchange words.
        """
        self._try_half_precision()
        probe = self.probe
        if not isinstance(probe, ExchangeProbe):
            raise CapabilityError(
                f"method {self.method!r} exchanges words, which this model does not support; use method='occlusion'"
            )
        rows = np.tile(np.arange(len(probe.scale)), (len(sources), 1))
        rows[:, self.active] = self.active[sources]
        self._count(len(sources))
        evaluate = partial(ask_exchanged, probe, batch_size=self._batch_size, watch=self.cost)
        return self._respond(self._checked(evaluate, rows, np.arange(rows.shape[1])[None]))

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)` to the response minus that at the reference; costs two gradients.

        Raises
        ------
        CapabilityError
            If the probe has no rules for its layers.
        """
        if not isinstance(self.probe, AttributionProbe):
            raise CapabilityError(
                f"method {self.method!r} supports the bundled LSTM classifiers only; use method='kernel-shap'"
            )
        self._keep_full_precision()
        self._count(2, gradients=True)
        return self.probe.contributions(self.link, self.target)[self.active]

    def again(self, probe: Probe | None = None, *, rows: int | None = None) -> "Oracle":
        """Return a copy that starts again at row 0, optionally with another probe or other batches of `rows` rows."""
        options = self.options if rows is None else replace(self.options, batch_size=rows)
        return replace(
            self, probe=probe or self.probe, options=options, n_rows=0, half=None, full_because=None, consistency=None
        )

    def reevaluated(self, seed: int) -> "Oracle":
        """Return a copy that starts again at row 0, for which the text itself was evaluated again, alone."""
        probe = self.probe.seeded(seed) if isinstance(self.probe, SeededProbe) else self.probe
        oracle = self.again(probe)
        oracle.text_response = oracle._response_alone(np.ones((1, len(probe.scale))), 0, probe)
        return oracle

    def _try_half_precision(self, rows: Floats | None = None) -> None:
        """Switch to half precision if it is requested, supported and precise enough on some rows."""
        if self.options.precision == "float32" or self.half is not None:
            return
        if not isinstance(self.probe, HalfProbe):
            raise CapabilityError(
                "half precision requires a torch model, expected precision='float32' for a function of texts"
            )
        half = self.probe.half()
        if half is None:
            self.half, self.full_because = False, NO_INSTRUCTIONS
            return
        rows = trial_rows(rows, self.size)
        full = replace(self, options=replace(self.options, precision="float32"), n_rows=0)
        self.full_because = too_noisy(full.responses(rows), full.again(half).responses(rows))
        self.half = self.full_because is None
        self.probe = half if self.half else self.probe

    def _keep_full_precision(self) -> None:
        """Add a note that gradients use full precision, if half precision was requested."""
        if self.options.precision != "float32":
            self.half, self.full_because = False, "gradients are not supported in half precision"

    def _checked(self, evaluate: Callable[[R], Floats], rows: R, text: R) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)`; the first call also checks the response to the `text`."""
        consistency = self.consistency
        if consistency is None or consistency.compared or not len(rows):
            return evaluate(rows)
        self.cost.n_queries += 1
        # The text goes into the first batch, where no row is cached. It is the second row, because a first row would
        # get the same random numbers as the text alone.
        scores = evaluate(np.insert(rows, 1, text[0], axis=0))
        again = partial(self._repeats_alone, np.ones((1, len(self.probe.scale))), 0)
        consistency.compare(self._response(self.probe.start), self._response(scores[1:2]), again)
        return np.delete(scores, 1, axis=0)

    def _compare_last(self, rows: Floats, scores: Floats, number: int) -> None:
        """Compare the response to the last row with the response to that row alone, in the first call."""
        consistency = self.consistency
        if consistency is not None and not consistency.compared and len(rows):
            row, number = rows[-1:], number + len(rows) - 1
            again = partial(self._repeats_alone, row, number)
            consistency.compare(self._response_alone(row, number, self.probe), self._response(scores[-1:]), again)

    def _repeats_alone(self, row: Floats, number: int) -> tuple[float, ...]:
        """Return one response to a row `(1, p)` alone, without the cache, or two from a probe that takes seeds."""
        probe = self.probe
        if isinstance(probe, RememberingProbe):
            probe = probe.afresh(remember=False)
        probes = (probe.seeded(0), probe.seeded(1)) if isinstance(probe, SeededProbe) else (probe,)
        return tuple(self._response_alone(row, number, repeat) for repeat in probes)

    def _response_alone(self, row: Floats, number: int, probe: Probe) -> float:
        """Return the response to one row `(1, p)` in a batch of its own."""
        self.cost.n_queries += 1
        return self._response(ask(probe, row, 1, number, watch=self.cost))

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
                f"method {self.method!r} needs gradients, which this model does not provide; use method='mase'"
            )
        self._keep_full_precision()
        return self.probe

    def _count(self, n: int, *, gradients: bool = False) -> int:
        """Return the number of the next row and count n rows."""
        first = self.n_rows
        self.n_rows += n
        self.cost.n_queries += n
        self.cost.n_gradients += n if gradients else 0
        return first

    def _all_coordinates(self, coordinates: Floats) -> Floats:
        """Return rows of all coordinates of the probe, with 1 for the inactive ones."""
        if self.size == len(self.probe.scale):
            return coordinates
        rows = np.ones((len(coordinates), len(self.probe.scale)))
        rows[:, self.active] = coordinates
        return rows
