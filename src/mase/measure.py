"""Compute the coefficients of a probe (Algorithm 1): draw perturbations, evaluate the model, solve for the saliency."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from mase.arrays import Ints
from mase.attribution import Note
from mase.links import Contrast
from mase.methods import Method
from mase.models.protocol import Probe
from mase.progress import Reporter
from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.known_scores import KnownScores
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO, QueryOptions
from mase.regression.repetition import repeated
from mase.regression.stopping import NEVER, Stopping
from mase.regression.strategy import Solution
from mase.regression.together import together

__all__ = ["measure"]


def measure(
    probe: Probe,
    method: Method,
    target: int,
    rng: np.random.Generator,
    *,
    query: QueryOptions = AUTO,
    stopping: Stopping = NEVER,
    known: KnownScores | None = None,
    reporter: Reporter | None = None,
    others: Sequence[int] = (),
    link: str | Contrast | None = None,
) -> Solution:
    """Run a method on a probe and return the coefficients `(p,)`; inactive coordinates get exactly 0.

    The rows are chosen for the class `target`; `others` are further classes, which are solved from the same answers.
    The `link` is that of the method by default.

    Rows of zeros and ones whose scores are `known` are not asked again, and the scores of others are added. The
    `reporter` is told of batches and rounds, and what it raises ends the measurement.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none, or if half precision is requested for a black box.
    OptionError
        If the design is incompatible with the space or the estimator, or if the method has no stopping rule.
    """
    strategy, p = method.strategy, len(probe.scale)
    if not stopping.never and not strategy.stops_early:
        raise stopping.unsupported(method.name)
    moving = probe.scale > 0 if strategy.needs_reference else np.ones(p, dtype=bool)
    oracle = Oracle.of(
        probe,
        method.name,
        link or method.link,
        target,
        moving,
        binary=method.space.binary,
        options=query,
        known=known,
    )
    if reporter is not None:
        oracle.cost.listener = reporter.asked
        oracle.solved = lambda so_far: reporter.solved(lambda: _embedded(so_far(), oracle.active, p))
    if not oracle.size:
        return replace(_constant(oracle, p), others=tuple(_constant(replace(oracle, target=one), p) for one in others))
    budget = method.budget(oracle.size, stops_early=not stopping.never)

    def solve(oracle: Oracle) -> Solution:
        return together(strategy, others, oracle, budget, deepcopy(rng), stopping)

    return _embedded(repeated(solve, oracle, budget, others), oracle.active, p)


def _embedded(solution: Solution, active: Ints, p: int) -> Solution:
    """Return a solution for all p coordinates."""
    return replace(
        solution,
        estimate=solution.estimate.embedded(active, p),
        interactions=tuple(replace(one, units=_at(active, one.units)) for one in solution.interactions),
        others=tuple(_embedded(other, active, p) for other in solution.others),
    )


def _at(active: Ints, pair: tuple[int, int]) -> tuple[int, int]:
    """Return the coordinates of a pair among all p, from those among the active ones."""
    return int(active[pair[0]]), int(active[pair[1]])


def _constant(oracle: Oracle, p: int) -> Solution:
    note = Note(
        "constant",
        "the model knows none of these words, or each is what masks it: all scores are 0; try another reference",
    )
    return Solution(Estimate(np.zeros(p), no_scatter(p), 0.0), oracle.text, oracle.cost, (note,))
