"""The oracle: it asks the model in batches, remembers rows, and tries half precision."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self, TypeVar

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.defaults import PRECISIONS, Precision, check_choice
from mase.errors import BudgetSpentError, ShapeError
from mase.links import Contrast
from mase.models.base import Probe
from mase.models.batching import ask, ask_exchanged, check_batch_size, gathered
from mase.responses import clipped, respond
from mase.solve.determinism import UNCHECKED, Consistency, Cost, Repeats
from mase.solve.problem import Estimate

# Number of rows of the trial, and the largest noise of half precision that is accepted, relative to the signal.
_TRIAL_ROWS, _LARGEST_NOISE = 16, 0.1
NO_INSTRUCTIONS: str | None = "this processor has no bfloat16 instructions, so half precision would be slower"


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How to evaluate a model.

    Parameters
    ----------
    batch_size
        Rows per forward pass, or "auto" to choose by the model and the length of the text. The same settings on the
        same machine and versions give the same scores to the last bit. Another batch size changes them by rounding (up
        to 3e-7 of the largest, with one row at a time).
    precision
        "float32", or "bfloat16" for half precision. Half precision is used if the processor supports it and its noise
        on 16 rows is small; otherwise float32 is used and a note says so.

    Raises
    ------
    OptionError
        If a value is invalid.
    """

    batch_size: int | Literal["auto"] = "auto"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        check_choice("precision", self.precision, PRECISIONS)

    @property
    def rows(self) -> int | None:
        """Rows per forward pass; None for "auto"."""
        return check_batch_size(self.batch_size)


AUTO_QUERY = QueryOptions()


def trial_rows(rows: Floats | None, p: int) -> Floats:
    """Return rows `(n, p)` to test half precision on: the first of `rows`, or Bernoulli rows if there are too few."""
    if rows is not None and len(rows) >= _TRIAL_ROWS:
        return rows[:_TRIAL_ROWS]
    return np.random.default_rng(0).integers(0, 2, size=(_TRIAL_ROWS, p)).astype(np.float64)


def too_noisy(exact: Floats, rough: Floats) -> str | None:
    """Return why half-precision responses `(n,)` are too noisy compared with full precision; None if they are not."""
    signal, noise = float(exact.std()), float((exact - rough).std())
    if noise <= _LARGEST_NOISE * signal:
        return None
    return f"half precision would add noise of {noise:.2g} to a signal of {signal:.2g} (standard deviations)"


R = TypeVar("R", Floats, Ints)


class KnownScores:
    """Class scores by row, for rows of zeros and ones over all p coordinates, or for rows of p integers."""

    def __init__(self) -> None:
        self._scores: dict[bytes, Floats] = {}

    def __len__(self) -> int:
        return len(self._scores)

    def with_text(self, start: Floats, p: int) -> Self:
        """Add the scores `(1, k)` of the text itself, a row of p ones or of 0 to p - 1, and return self."""
        self.add(np.ones((1, p)), start)
        self.add(np.arange(p)[None], start)
        return self

    def add(self, rows: Floats | Ints, scores: Floats) -> None:
        """Keep the scores `(n, k)` of rows `(n, p)`; of a row that was asked before, the first answer."""
        for key, score in zip(_keys(rows), scores, strict=True):
            self._scores.setdefault(key, score)

    def get(self, rows: Floats | Ints) -> list[Floats | None]:
        """Return the scores `(k,)` of each row of `(n, p)`; None for a row that was not asked."""
        return [self._scores.get(key) for key in _keys(rows)]

    def spread(self, p: int, n: int, rank: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        """Return at most n of the rows of zeros and ones `(n, p)` with their scores `(n, k)`, evenly over a `rank`.

        `rank` returns a number for each of some scores `(m, k)`.
        """
        keys = [key for key in self._scores if len(key) == -(-p // 8)]
        scores = np.array([self._scores[key] for key in keys])
        order = np.argsort(rank(scores), kind="stable")
        chosen = order[np.unique(np.linspace(0, len(order) - 1, n).astype(np.int64))] if n > 0 else order[:0]
        packed = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)[chosen]
        return np.unpackbits(packed, axis=1, count=p).astype(np.float64), scores[chosen]

    def complete(self, rows: R, ask: Callable[[R], Floats]) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)`.

        `ask` returns the scores of the rows that were not asked before. It is called at most once, with each of them
        once and in the order in which they first appear.
        """
        keys, first = _keys(rows), dict[bytes, int]()
        for index, key in enumerate(keys):
            if key not in self._scores:
                first.setdefault(key, index)
        if first:
            scores = ask(rows if len(first) == len(rows) else rows[list(first.values())])
            self._scores.update(zip(first, scores, strict=True))
        return np.array([self._scores[key] for key in keys])


def _keys(rows: Floats | Ints) -> list[bytes]:
    packed = np.packbits(rows == 1, axis=1) if rows.dtype.kind == "f" else rows
    return [row.tobytes() for row in packed]


@dataclass(slots=True)
class Oracle:
    """The class scores of a probe, and the response of one class, as functions of the `active` coordinates `(p,)`.

    All other coordinates stay at 1. Rows are evaluated in micro-batches, which are halved if memory runs out. Scores
    are checked to be finite, and every evaluation is counted. A row of zeros and ones is evaluated once, however often
    it is asked. Row numbers continue from call to call, so that a design gets the same noise in one round or in
    several. The oracle is mutable; copies made by `again` share its `cost`.

    Attributes
    ----------
    start
        Scores of the text itself `(1, k)`.
    known
        The scores of the rows of zeros and ones that were evaluated. None to evaluate a row whenever it is asked, as in
        a space that is not `binary`.
    options
        Batch size and requested precision. Half precision is tested on rows of the first call.
    consistency
        Where to record whether the model is consistent: the first call evaluates some of its rows once more.
    solved
        Called after every round but the last one with a function that returns the `Solution` so far; None for nobody.
    n_rows
        Number of rows that were evaluated for a design or a procedure.
    n_reused
        Number of rows that were asked but known.
    units
        The coordinates of each unit, among the active ones; None if each is one.
    """

    probe: Probe
    method: str
    link: str | Contrast
    target: int
    active: Ints
    start: Floats
    known: KnownScores | None = None
    binary: bool = True
    options: QueryOptions = AUTO_QUERY
    consistency: Consistency = field(default_factory=lambda: UNCHECKED)
    solved: Callable[[Any], None] | None = None
    cost: Cost = field(default_factory=Cost)
    n_rows: int = 0
    n_reused: int = 0
    half: bool | None = None
    full_because: str | None = None
    units: tuple[Ints, ...] | None = None

    @classmethod
    def of(
        cls,
        probe: Probe,
        method: str,
        link: str | Contrast,
        target: int,
        moving: Bools,
        *,
        binary: bool,
        options: QueryOptions,
        known: KnownScores | None = None,
    ) -> "Oracle":
        """Return the oracle of the coordinates that are `moving` `(p,)`; the evaluations of the setup are counted.

        In a `binary` space, it uses the `known` scores and adds to them, or keeps its own.
        """
        known = KnownScores() if known is None else known
        kept = known.with_text(probe.start, len(moving)) if binary else None
        cost = Cost(probe.n_setup, floor=probe.output.floor)
        return cls(probe, method, link, target, np.flatnonzero(moving), probe.start, kept, binary, options, cost=cost)

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.active)

    def of_units(self, estimate: Estimate) -> Estimate:
        """Return the estimate of the scores of the units, from that of the coordinates `(p,)`."""
        return estimate if self.units is None else estimate.summed(self.units)

    @property
    def scale(self) -> Floats:
        """`(p,)`: standard deviation per unit of sigma of every coordinate of the probe; 0 for inactive ones."""
        scale = np.zeros(len(self.probe.scale))
        scale[self.active] = self.probe.scale[self.active]
        return scale

    @property
    def text(self) -> float:
        """Response at the text itself (all coordinates 1), which is known from when the text was bound."""
        return float(self.respond(self.start)[0])

    @property
    def probability(self) -> float:
        """Probability of the class at the text itself."""
        return float(respond(self.start, self.probe.output, "probability", self.target)[0])

    @property
    def precision(self) -> Precision:
        """The precision in which the model is evaluated."""
        return "bfloat16" if self.half else "float32"

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the evaluations so far."""
        full = self.full_because
        return (*self.cost.notes, *([] if full is None else [Note("float32-instead", f"{full}: float32 was used")]))

    def scores(self, coordinates: Floats) -> Floats:
        """Return the class scores `(n, k)` at coordinates `(n, p)`: 1 is a word of the text, 0 its reference.

        In a binary space, the model evaluates the rows that it was not asked for before, each of them once and in the
        order in which they first appear.
        """
        self._try_half_precision(coordinates)
        return self._answered(self._all_coordinates(coordinates), self._evaluated)

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`; see `scores`."""
        return self.respond(self.scores(coordinates))

    def respond(self, scores: Floats) -> Floats:
        """Return the responses `(n,)` of class scores `(n, k)`."""
        return respond(scores, self.probe.output, self.link, self.target)

    def scores_at(self, level: float) -> Floats:
        """Return the class scores `(1, k)` with every coordinate at `level`, in full precision, without a number."""
        self.cost.n_queries += 1
        row = self._all_coordinates(np.full((1, self.size), level))
        return ask(self.probe, row, self.options.rows, 0, watch=self.cost)

    def gradients(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return class scores `(n, k)` and derivatives `(n, p)` of the response at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        self._keep_full_precision()
        first, rows = self._count(len(coordinates), gradients=True), self._all_coordinates(coordinates)
        k = self.start.shape[1]

        def both(rows: Floats, numbers: Ints) -> Floats:
            scores, slopes = self.probe.gradients(rows, numbers, self.link, self.target)
            return np.concatenate([scores, slopes[:, self.active]], axis=1)

        slopes = np.empty((0, self.size))

        def evaluate(rows: Floats) -> Floats:
            nonlocal slopes
            result = gathered(both, rows, self._batch_size, first, watch=self.cost)
            slopes = result[:, k:]
            return result[:, :k]

        # One row alone would be asked with the same random numbers again, and tell nothing.
        scores = self.consistency.checked(evaluate, rows, first, self._repeats) if len(rows) > 1 else evaluate(rows)
        return self.count_clipped(scores), slopes

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return the Euclidean norms `(n, p)` of the response's gradient with respect to the vectors of each word.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        self._keep_full_precision()
        first, rows = self._count(len(coordinates), gradients=True), self._all_coordinates(coordinates)

        def norms(rows: Floats, numbers: Ints) -> Floats:
            return self.probe.gradient_norms(rows, numbers, self.link, self.target)[:, self.active]

        return gathered(norms, rows, self._batch_size, first, watch=self.cost)

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` with word i replaced by word `sources[:, i]`, for sources `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe cannot exchange words.
        """
        self._try_half_precision()
        rows = np.tile(np.arange(len(self.probe.scale)), (len(sources), 1))
        rows[:, self.active] = self.active[sources]

        def evaluate(rows: Ints) -> Floats:
            first, repeats = self._count(len(rows)), replace(self._repeats, ask=ask_exchanged)
            asked = partial(ask_exchanged, self.probe, batch_size=self._batch_size, first=first, watch=self.cost)
            return self.count_clipped(self.consistency.checked(asked, rows, first, repeats))

        return self.respond(self._answered(rows, evaluate))

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)` to the response minus that at the reference; costs two gradients.

        Raises
        ------
        CapabilityError
            If the probe has no rules for its layers.
        """
        self._keep_full_precision()
        self._count(2, gradients=True)
        return self.probe.contributions(self.link, self.target)[self.active]

    def again(self, probe: Probe | None = None, *, rows: int | None = None, remember: bool = True) -> "Oracle":
        """Return a copy that starts again at row 0, which knows no scores but those of the text itself.

        It may have another probe or batches of `rows` rows. Unless it is to `remember` scores, it evaluates a row
        whenever it is asked.
        """
        options = self.options if rows is None else replace(self.options, batch_size=rows)
        keeps = remember and self.known is not None
        known = KnownScores().with_text(self.start, len(self.probe.scale)) if keeps else None
        oracle = replace(self, probe=probe or self.probe, options=options, known=known, consistency=UNCHECKED)
        oracle.n_rows, oracle.n_reused, oracle.half, oracle.full_because = 0, 0, None, None
        return oracle

    def reevaluated(self, seed: int) -> "Oracle":
        """Return a copy that starts again at row 0, for which the text itself was evaluated again, alone."""
        probe = self.probe.seeded(seed)
        start = self._repeats.scores(np.ones((1, len(probe.scale))), 0, probe)
        return replace(self, start=start).again(probe)

    def _answered(self, rows: R, evaluate: Callable[[R], Floats]) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)`, of which `evaluate` gets those that have to be evaluated."""
        if self.known is None:
            return evaluate(rows)
        n_before = self.n_rows
        scores = self.known.complete(rows, evaluate)
        self.n_reused += len(rows) - (self.n_rows - n_before)
        return scores

    def _evaluated(self, rows: Floats) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)` of all coordinates, counted and checked."""
        first = self._count(len(rows))
        evaluate = partial(ask, self.probe, batch_size=self.options.rows, first=first, watch=self.cost)
        try:
            return self.count_clipped(self.consistency.checked(evaluate, rows, first, self._repeats))
        except BudgetSpentError:
            if len(rows) <= self._batch_size:  # then none of them was asked
                self._count(-len(rows))
            raise

    def _try_half_precision(self, rows: Floats | None = None) -> None:
        """Switch to half precision if it is requested, supported and precise enough on some rows."""
        if self.options.precision == "float32" or self.half is not None:
            return
        half = self.probe.half()
        if half is None:
            self.half, self.full_because = False, NO_INSTRUCTIONS
            return
        rows = trial_rows(rows, self.size)
        full = replace(self, options=replace(self.options, precision="float32"), n_rows=0)
        trial = full.again(half)
        self.full_because = too_noisy(full.responses(rows), trial.responses(rows))
        self.half = self.full_because is None
        if self.half:
            self.probe, self.known = trial.probe, trial.known

    def _keep_full_precision(self) -> None:
        """Add a note that gradients use full precision, if half precision was requested."""
        if self.options.precision != "float32":
            self.half, self.full_because = False, "gradients are not supported in half precision"

    @property
    def _repeats(self) -> Repeats:
        return Repeats(self.probe, self.respond, self.cost)

    def count_clipped(self, scores: Floats) -> Floats:
        """Count the scores `(n, k)` whose response raises a probability to the floor, and return them."""
        self.cost.n_clipped += int(clipped(scores, self.probe.output, self.link, self.target).sum())
        return scores

    @property
    def _batch_size(self) -> int:
        return self.options.rows or self.probe.batch_size

    def _count(self, n: int, *, gradients: bool = False) -> int:
        """Return the number of the next row and count n rows."""
        first = self.n_rows
        self.n_rows += n
        self.cost.n_queries += n
        self.cost.n_gradients += n if gradients else 0
        return first

    def _all_coordinates(self, coordinates: Floats) -> Floats:
        """Return rows of all coordinates of the probe, with 1 for the inactive ones."""
        if np.ndim(coordinates) != 2 or coordinates.shape[1] != self.size:
            raise ShapeError(f"coordinates have shape {np.shape(coordinates)}, expected (n, {self.size})")
        if self.size == len(self.probe.scale):
            return coordinates
        rows = np.ones((len(coordinates), len(self.probe.scale)))
        rows[:, self.active] = coordinates
        return rows
