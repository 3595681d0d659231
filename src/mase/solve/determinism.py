"""What an explanation costs, and models that answer the same row differently."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution.response import Note
from mase.links import FLOOR
from mase.models.base import Probe
from mase.models.batching import Watch, ask
from mase.solve.problem import Estimate


@dataclass(slots=True)
class Cost(Watch):
    """Counts of model evaluations. It watches the batches (`mase.models.batching.Watch`).

    Attributes
    ----------
    n_queries
        Evaluations (rows), including those for setup and for trial runs.
    n_compared
        Those of them that were made again, to compare the answers.
    n_gradients
        Evaluations with a backward pass.
    n_clipped
        Evaluations whose probability was below the `floor` and was raised to it before taking the logarithm.
    halved_to
        Smallest batch size after memory ran out; None if it never did.
    listener
        Called with the number of rows of every batch; None for nobody.
    """

    n_queries: int = 0
    n_compared: int = 0
    n_gradients: int = 0
    n_clipped: int = 0
    halved_to: int | None = None
    floor: float = FLOOR
    listener: Callable[[int], None] | None = field(default=None, repr=False, compare=False)

    def asked(self, n: int) -> None:
        """Tell the listener of a batch of n rows."""
        if self.listener is not None:
            self.listener(n)

    def halved(self, batch_size: int) -> None:
        """Record that memory ran out, and that batches have at most `batch_size` rows since."""
        self.halved_to = batch_size if self.halved_to is None else min(self.halved_to, batch_size)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the evaluations."""
        return (*self._of_clipping(), *self._of_memory())

    def _of_memory(self) -> tuple[Note, ...]:
        if self.halved_to is None:
            return ()
        message = (
            f"memory ran out, so that batches were halved to {self.halved_to}: scores may differ by rounding from "
            f"those of a run with more memory; use batch_size={self.halved_to} for the same scores in every run"
        )
        return (Note("batch-halved", message),)

    def _of_clipping(self) -> tuple[Note, ...]:
        if not self.n_clipped:
            return ()
        message = (
            f"{self.n_clipped} of {self.n_queries} evaluations returned a probability below {self.floor:g}, which was "
            f"raised to {self.floor:g} before taking the logarithm; return logits (outputs='logits'), or use another "
            "link: 'probability', or 'log-probability' for the answer of a language model"
        )
        return (Note("floored", message),)


R = TypeVar("R", Floats, Ints)
Kind = Literal["not-deterministic", "batch-dependent", "rounding"]

# Differences below these shares are rounding: of the largest score, and of the response or the largest class score. Two
# logits of 5 make a margin of nearly 0, which is only as precise as they are.
_SCORE_ROUNDING, RESPONSE_ROUNDING = 1e-4, 1e-6

# Responses to the text alone that differ by less than this share of the largest difference count as reproduced.
REPRODUCED = 1e-2

# Of how many rows of the first call some are evaluated again, and how many are few.
_FIRST, _FEW = 64, 16


@dataclass(frozen=True, slots=True)
class Repeats:
    """Evaluates rows of a probe again, each in a batch of its own.

    Attributes
    ----------
    respond
        The responses `(n,)` of scores `(n, k)`.
    cost
        Counts the evaluations.
    ask
        Evaluates rows: `ask` of `mase.models.batching`, or `ask_exchanged` for rows of sources.
    """

    probe: Probe
    respond: Callable[[Floats], Floats]
    cost: Cost
    ask: Callable[..., Floats] = ask

    def scores(self, row: Floats | Ints, number: int, probe: Probe) -> Floats:
        """Return the scores `(1, k)` of one row `(1, p)` of this number."""
        self.cost.n_queries += 1
        self.cost.n_compared += 1
        return self.ask(probe, row, 1, number, watch=self.cost)

    def response(self, row: Floats | Ints, number: int) -> float:
        """Return the response to one row `(1, p)`."""
        return self.response_of(self.scores(row, number, self.probe))

    def response_of(self, scores: Floats) -> float:
        """Return the response of scores `(1, k)`."""
        return float(self.respond(scores)[0])

    def responses(self, row: Floats | Ints, number: int) -> tuple[float, ...]:
        """Return one response to a row `(1, p)`, or two from a probe that takes seeds."""
        probe = self.probe
        probes = (probe.seeded(0), probe.seeded(1)) if probe.has_seeds else (probe,)
        return tuple(self.response_of(self.scores(row, number, repeat)) for repeat in probes)


@dataclass(slots=True)
class Consistency:
    """The comparison of the responses to one input, evaluated alone and in a batch of other inputs.

    If the first two responses differ, the input is evaluated alone again.

    Attributes
    ----------
    compared
        Whether the comparison was made, or is not to be made.
    alone, in_batch
        The first response to the input alone, and the response in a batch.
    scores
        The class scores `(2, k)` of these two; None before the comparison.
    size
        The larger of the first response and of the largest class score in a batch, in absolute value.
    difference
        The largest difference between any two responses.
    kind
        The cause of the difference; None if there is no difference.
    """

    compared: bool = False
    alone: float = 0.0
    in_batch: float = 0.0
    scores: Floats | None = None
    size: float = 0.0
    difference: float = 0.0
    kind: Kind | None = None

    def checked(self, evaluate: Callable[[R], Floats], rows: R, first: int, repeats: Repeats) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)`; after the first call some are evaluated again, each alone.

        They are one of the odd rows with the largest response, and the last row; of few rows also one of the even rows
        with the smallest response, and those with the most and the fewest words. A model whose answers come back in
        another order, such as that of the lengths of the texts, end before the last row, or depend on the place in the
        batch or on its other rows, answers to them otherwise. The numbers of the rows begin with `first`.
        """
        scores = evaluate(rows)
        if not self.compared and len(rows) and (len(rows) > 1 or self.scores is None):
            # The first row of a batch gets the same random numbers as a row alone, so that it would hide dropout.
            extremes = {len(rows) - 1}
            for look in [repeats.respond(scores), *([rows.sum(axis=1)] if len(rows) <= _FEW else [])]:
                if len(rows) > 1:
                    extremes.add(1 + 2 * int(look[1:_FIRST:2].argmax()))
                if 2 < len(rows) <= _FEW:
                    extremes.add(2 + 2 * int(look[2:_FIRST:2].argmin()))
            for place in sorted(extremes):
                here, number = slice(place, place + 1), first + place
                again = repeats.scores(rows[here], number, repeats.probe)
                self.compare(again, scores[here], repeats, rows[here], number)
                if self.kind is not None:
                    break
            self.compared = len(rows) > 1  # a single row was asked alone, too
        return scores

    def compare(self, of_one: Floats, of_batch: Floats, repeats: Repeats, row: Floats | Ints, number: int) -> None:
        """Compare the responses of the scores `(1, k)` of one input alone and in a batch.

        If they differ, the `row` `(1, p)` of this number is evaluated alone once or twice more. If all responses to the
        input alone agree, the difference comes from the other inputs in the batch. Of several comparisons, the one with
        the largest difference is kept.
        """
        alone, in_batch, difference = repeats.response_of(of_one), repeats.response_of(of_batch), 0.0
        kind: Kind | None = None
        size = max(abs(alone), float(np.abs(of_batch).max()))
        if abs(alone - in_batch) > RESPONSE_ROUNDING * size:
            again = repeats.responses(row, number)
            responses = (alone, in_batch, *again)
            difference = max(responses) - min(responses)
            responses_alone = (alone, *again) if len(again) == 1 else again
            reproduced = max(responses_alone) - min(responses_alone) <= REPRODUCED * difference
            kind = "batch-dependent" if reproduced else "not-deterministic"
            if reproduced:
                alone = responses_alone[-1]  # the first response may be that to the text beside its reference
        if self.scores is None or difference > self.difference:
            self.alone, self.in_batch = alone, in_batch
            self.scores = np.concatenate([of_one, of_batch])
            self.size, self.difference, self.kind = size, difference, kind

    def matters(self, estimate: Estimate) -> bool:
        """Return whether the difference could change a score by its standard error.

        A score is a difference of mean responses, so it changes by at most twice the difference. Differences that are
        rounding, relative to the scores, the response or the class scores, do not matter.
        """
        if self.kind is None or not len(estimate.gamma):
            return False
        errors = np.sqrt(np.maximum(np.nan_to_num(estimate.variances), 0.0))
        largest = float(np.abs(estimate.gamma).max())
        rounding = max(_SCORE_ROUNDING * largest, RESPONSE_ROUNDING * self.size)
        return 2 * self.difference > max(float(errors.min()), rounding)


UNCHECKED = Consistency(compared=True)


def note(consistency: Consistency, estimate: Estimate) -> Note:
    """Return the note on an estimate from a model whose responses to one text differ."""
    assert consistency.kind is not None
    alone, in_batch = _distinguished(consistency.alone, consistency.in_batch)
    if consistency.kind == "batch-dependent":
        return Note(
            consistency.kind,
            f"the model returned {alone} for a text alone and {in_batch} for the same text in a batch; rows were "
            "evaluated one at a time, which is slower; check whether the model normalises over the batch",
        )
    include = "scores include" if np.isnan(estimate.variances).all() else "standard errors include"
    if consistency.kind == "rounding":
        return Note(
            consistency.kind,
            f"the model returned {alone} for a text alone and {in_batch} for the same text in a batch, as in half "
            f"precision or TF32; the {include} this; it is smaller in float32 throughout",
        )
    return Note(
        consistency.kind,
        f"the model returned {alone} and then {in_batch} for the same text; the cache was not used, and the {include} "
        "this noise; switch off dropout or sampling, or fix the seed",
    )


def _distinguished(first: float, second: float) -> tuple[str, str]:
    """Return two numbers with four digits, or with as many as it takes to tell them apart."""
    shown = ((f"{first:.{digits}g}", f"{second:.{digits}g}") for digits in range(4, 18))
    return next((pair for pair in shown if pair[0] != pair[1]), (str(first), str(second)))
