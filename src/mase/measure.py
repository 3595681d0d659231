"""From a probe to coefficients, Algorithm 1 of the paper: draw perturbations, ask the model, solve for the saliency."""

from dataclasses import replace

import numpy as np

from mase.attribution import Note
from mase.errors import OptionError
from mase.methods import Method
from mase.models.protocol import Probe
from mase.regression.covariance import no_scatter
from mase.regression.oracle import Oracle
from mase.regression.precision import AUTO, QueryOptions
from mase.regression.problem import Estimate
from mase.regression.repetition import Repeated
from mase.regression.stopping import NEVER, Stopping
from mase.regression.strategy import Solution

__all__ = ["measure"]


def measure(
    probe: Probe,
    method: Method,
    target: int,
    rng: np.random.Generator,
    options: QueryOptions = AUTO,
    stopping: Stopping = NEVER,
) -> Solution:
    """Ask a probe as a method says and solve for the coefficients `(p,)`; coordinates that move nothing get exactly 0.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none, or half precision is wanted of a black box.
    OptionError
        If the design does not suit space or estimator, or the method is to stop early and cannot.
    """
    strategy, p = method.strategy, len(probe.scale)
    if not stopping.never and not strategy.stops_early:
        raise OptionError(f"method {method.name!r} asks as it sees fit, expected no tolerance and no stable_top")
    moving = probe.scale > 0 if strategy.needs_reference else np.ones(p, dtype=bool)
    oracle = Oracle.of(probe, method.name, method.link, target, moving, binary=method.space.binary, options=options)
    if not oracle.size:
        return _nothing_moves(oracle, p)
    solution = Repeated(strategy).run(oracle, method.n_samples, rng, stopping)
    return replace(solution, estimate=solution.estimate.embedded(oracle.active, p))


def _nothing_moves(oracle: Oracle, p: int) -> Solution:
    note = Note("constant", "no word differs from the reference: all scores are 0")
    return Solution(Estimate(np.zeros(p), no_scatter(p), 0.0), oracle.text, oracle.cost, (note,))
