"""Compute the coefficients of a probe (Algorithm 1): draw perturbations, evaluate the model, solve for the saliency."""

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from mase.arrays import Ints
from mase.attribution import Note
from mase.errors import OptionError
from mase.methods import Method
from mase.models.protocol import Probe
from mase.regression.answers import Answers
from mase.regression.covariance import no_scatter
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO, QueryOptions
from mase.regression.problem import Estimate
from mase.regression.repetition import Repeated
from mase.regression.stopping import NEVER, Stopping
from mase.regression.strategy import Solution

__all__ = ["Follower", "measure"]


class Follower(Protocol):
    """Is told how far a measurement is."""

    def asked(self, n: int) -> None:
        """Take note of a batch of n rows."""
        ...

    def solved(self, solution: Callable[[], Solution]) -> None:
        """Take note of a round, after which `solution()` is the solution so far; the last round is not told of."""
        ...


def measure(
    probe: Probe,
    method: Method,
    target: int,
    rng: np.random.Generator,
    options: QueryOptions = AUTO,
    stopping: Stopping = NEVER,
    answers: Answers | None = None,
    follower: Follower | None = None,
) -> Solution:
    """Run a method on a probe and return the coefficients `(p,)`; inactive coordinates get exactly 0.

    Rows of zeros and ones that are among the `answers` are not asked again; others are added to them. The `follower` is
    told of batches and rounds, and what it raises ends the measurement.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none, or if half precision is requested for a black box.
    OptionError
        If the design is incompatible with the space or the estimator, or if the method has no stopping rule.
    """
    strategy, p = method.strategy, len(probe.scale)
    if not stopping.never and not strategy.stops_early:
        raise OptionError(
            f"method {method.name!r} does not support stopping rules, expected no tolerance and no stable_top; leave "
            "them out or use method='mase'"
        )
    moving = probe.scale > 0 if strategy.needs_reference else np.ones(p, dtype=bool)
    oracle = Oracle.of(
        probe, method.name, method.link, target, moving, binary=method.space.binary, options=options, answers=answers
    )
    if follower is not None:
        oracle.cost.listener = follower.asked
        oracle.solved = lambda so_far: follower.solved(lambda: _embedded(so_far(), oracle.active, p))
    if not oracle.size:
        return _constant(oracle, p)
    solution = Repeated(strategy).run(oracle, method.n_samples, rng, stopping)
    return _embedded(solution, oracle.active, p)


def _embedded(solution: Solution, active: Ints, p: int) -> Solution:
    """Return a solution for all p coordinates."""
    return replace(solution, estimate=solution.estimate.embedded(active, p))


def _constant(oracle: Oracle, p: int) -> Solution:
    note = Note("constant", "no word differs from the reference: all scores are 0; use another reference")
    return Solution(Estimate(np.zeros(p), no_scatter(p), 0.0), oracle.text, oracle.cost, (note,))
