"""From a probe to coefficients: draw the design, ask, solve, judge. Knows nothing of texts or frameworks."""

import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Fit, Note
from mase.errors import OptionError
from mase.links import probabilities
from mase.methods import Method
from mase.models.protocol import Probe
from mase.regression.consistency import Consistency
from mase.regression.covariance import covariance, no_scatter
from mase.regression.diagnostics import adjusted_r2, coefficients, condition, remarks, split_half
from mase.regression.measurement import Measurement
from mase.regression.oracle import ProbeOracle
from mase.regression.precision import TRIAL_ROWS, Precision, coins, halved
from mase.regression.problem import (
    AdaptiveDesign,
    Design,
    Estimate,
    Estimator,
    Law,
    LeadingDesign,
    OwnLaw,
    Problem,
    Sample,
)
from mase.regression.procedure import Procedure
from mase.regression.promotion import led
from mase.regression.repetition import asked_anew
from mase.regression.stopping import NEVER, Stopping

__all__ = ["Effort", "Measurement", "measure"]


@dataclass(frozen=True, slots=True)
class Effort:
    """How to ask: rows per forward pass (None: what suits the model), when to stop, and in which precision.

    ``"bfloat16"`` is used only where the processor is made for it and its noise on 16 rows small; a remark says what
    was done.
    """

    batch_size: int | None = None
    stopping: Stopping = NEVER
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.precision not in ("float32", "bfloat16"):
            raise OptionError(f"precision is {self.precision!r}, expected 'float32' or 'bfloat16'")


@dataclass(frozen=True, slots=True)
class _Answers:
    """The first n rows of a sample, answered and solved."""

    sample: Sample
    responses: Floats
    problem: Problem
    estimate: Estimate


def measure(
    probe: Probe,
    method: Method,
    target: int,
    rng: np.random.Generator,
    effort: Effort = Effort(),
) -> Measurement:
    """Ask a probe as a method says and solve for the coefficients `(p,)`; coordinates that move nothing get exactly 0.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none, or half precision is wanted of a black box.
    OptionError
        If the design does not suit space or estimator, or a procedure is to stop early.
    """
    began = time.perf_counter()
    procedure = method.procedure
    moving = (
        probe.widths > 0 if procedure is None or procedure.needs_reference else np.ones(len(probe.widths), dtype=bool)
    )
    active = np.flatnonzero(moving)
    oracle = ProbeOracle(probe, method.name, method.link, target, active, effort.batch_size, binary=method.space.binary)
    if not len(active):
        return _nothing_moves(oracle, began)
    watch = Consistency()
    found = _solved(replace(oracle, consistency=watch), method, deepcopy(rng), effort, began)
    if not watch.matters(found.estimate.at(active)):
        return found
    return asked_anew(
        lambda one: _solved(one, method, deepcopy(rng), effort, time.perf_counter()),
        oracle,
        found,
        watch,
        method.n_samples,
    )


def _solved(oracle: ProbeOracle, method: Method, rng: np.random.Generator, effort: Effort, began: float) -> Measurement:
    """Return what a method finds with one oracle."""
    if method.procedure is not None:
        return _proceeded(oracle, method.procedure, method, rng, effort, began)
    return _regressed(oracle, method, rng, effort, began)


def _proceeded(
    oracle: ProbeOracle, procedure: Procedure, method: Method, rng: np.random.Generator, effort: Effort, began: float
) -> Measurement:
    """Return what a procedure finds with its own questions."""
    if not effort.stopping.never:
        raise OptionError(f"method {method.name!r} asks as it sees fit, expected no tolerance and no stable_top")
    extra, tried = 0, list[Note]()
    if effort.precision == "bfloat16":
        oracle, extra, tried = halved(oracle, coins(rng, oracle.size), needs_gradients=method.needs_gradients)
    estimate = procedure.run(oracle, method.n_samples, rng)
    noted = [] if estimate.remark is None else [Note("fallback", estimate.remark)]
    if not estimate.gamma.any() and estimate.remark is None:
        noted.append(Note("constant", "nothing that was asked changed the model's answer: all scores are 0"))
    if not getattr(procedure, "signed", True):
        noted.append(
            Note("unsigned", "scores are lengths: how much a word matters, not whether it speaks for the class")
        )
    fit = Fit(
        split_half=None,
        condition=None,
        n_queries=oracle.probe.n_setup + extra + oracle.n_queries,
        n_gradients=oracle.n_gradients,
        seconds=time.perf_counter() - began,
        precision="float32" if tried else effort.precision,
    )
    estimate = estimate.embedded(oracle.active, len(oracle.probe.widths))
    return Measurement(estimate, oracle.text, None, fit, (*noted, *oracle.remarks(), *tried))


def _regressed(
    oracle: ProbeOracle, method: Method, rng: np.random.Generator, effort: Effort, began: float
) -> Measurement:
    """Return what an estimator makes of the rows of a design."""
    design, estimator = method.regression
    p = len(oracle.probe.widths)
    law = _law(method, oracle)
    reserved = design.candidates(method.n_samples, oracle.size) if isinstance(design, LeadingDesign) else 0
    cap = method.n_samples - reserved
    sample = design.draw(rng, _round_size(cap, design), law)
    _check_suits(method, estimator, sample)
    base, extra = _base(oracle, sample, estimator)
    tried = list[Note]()
    if effort.precision == "bfloat16":
        enough = len(sample.coordinates) >= TRIAL_ROWS
        rows = sample.coordinates[:TRIAL_ROWS] if enough else coins(rng, oracle.size)
        oracle, more, tried = halved(oracle, rows, needs_gradients=method.needs_gradients)
        extra += more
    answers = _asked(oracle, method, law, sample, cap, base, effort.stopping, rng)
    estimate, lead = answers.estimate, None
    if isinstance(design, LeadingDesign):
        n = effort.stopping.among(design.candidates(len(answers.responses) + reserved, oracle.size))
        estimate, lead = led(oracle, estimate, n, float(answers.responses.std()))
    r2 = adjusted_r2(answers.sample, answers.responses, answers.estimate)
    halves = None if sample.exhaustive else split_half(answers.problem, estimator, answers.estimate.gamma)
    fit = Fit(
        split_half=halves,
        condition=condition(answers.problem),
        n_queries=oracle.probe.n_setup + extra + oracle.n_queries,
        n_gradients=oracle.n_gradients,
        seconds=time.perf_counter() - began,
        precision="float32" if tried else effort.precision,
    )
    notes = (
        *_remarks(oracle, method, answers, r2, halves),
        *effort.stopping.remarks(answers.estimate),
        *_unfocused(design, len(answers.responses), cap),
        *oracle.remarks(),
        *tried,
    )
    return Measurement(estimate.embedded(oracle.active, p), oracle.text, r2, fit, notes, lead)


def _law(method: Method, oracle: ProbeOracle) -> Law:
    """Return the law of the coordinates that move: the design's own, or that of sigma and centre."""
    if isinstance(method.design, OwnLaw):
        return method.design.law(oracle.size)
    assert method.center is not None
    widths = oracle.probe.widths
    return Law(method.center, covariance(_of_moving(method.sigma, oracle.active, len(widths)), widths[oracle.active]))


def _asked(
    oracle: ProbeOracle,
    method: Method,
    law: Law,
    sample: Sample,
    cap: int,
    base: float | None,
    stopping: Stopping,
    rng: np.random.Generator,
) -> _Answers:
    """Return the answers to as many rows as the stopping rule wants, all of them by default; a sample may grow by rounds."""
    design, estimator = method.regression
    adaptive = design if isinstance(design, AdaptiveDesign) else None
    if adaptive is None:
        cap = len(sample.coordinates)
    size = _round_size(cap, design)
    responses, slopes, gamma = np.empty(0), np.empty((0, oracle.size)), np.empty(0)
    solved: tuple[Problem, Estimate] | None = None
    while True:
        first = len(responses)
        goal = stopping.goal(sample, cap, solved)
        if adaptive is not None:
            goal = min(goal, first + size)
            if goal > len(sample.coordinates):
                sample = sample.joined(adaptive.follow(rng, goal - len(sample.coordinates), law, gamma))
        rows = sample.coordinates[first:goal]
        if estimator.needs_gradients:
            more, gradients = oracle.gradients(rows)
            slopes = np.concatenate([slopes, gradients])
        else:
            more = oracle.responses(rows)
        responses = np.concatenate([responses, more])
        head = sample.head(goal)
        problem = head.problem(responses, base, slopes if estimator.needs_gradients else None)
        if goal < cap and stopping.never:  # nobody asks how certain a round is
            gamma = coefficients(estimator, problem)
            continue
        estimate = _fitted(estimator, problem, sample)
        if goal == cap or stopping.enough(estimate):
            return _Answers(head, responses, problem, estimate)
        solved, gamma = (problem, estimate), estimate.gamma


def _round_size(n: int, design: Design) -> int:
    """Return the number of rows of one of the rounds that n rows are split into: all, unless a design is adaptive."""
    return -(-n // design.rounds) if isinstance(design, AdaptiveDesign) else n


def _unfocused(design: Design, n: int, cap: int) -> Iterator[Note]:
    """Yield a remark if an adaptive design was stopped before its last round."""
    if isinstance(design, AdaptiveDesign) and n < cap:
        done, size = n / cap * design.rounds, _round_size(cap, design)
        if -(-n // size) < design.rounds:
            message = (
                f"stopped after {done:.1f} of {design.rounds} rounds: the later ones look behind the words found so far"
            )
            yield Note("early", f"{message}, and may rank others higher; a smaller tolerance asks more of them")


def _fitted(estimator: Estimator, problem: Problem, sample: Sample) -> Estimate:
    """Return the estimate, without sampling error where nothing was drawn."""
    estimate = estimator.fit(problem)
    return replace(estimate, covariance=no_scatter(problem.p)) if sample.exhaustive else estimate


def _of_moving(sigma: Any, active: Ints, p: int) -> Any:
    """Return the part of a sigma `(p,)` or `(p, p)` that belongs to the coordinates that move."""
    if np.shape(sigma) == (p,):
        return np.asarray(sigma)[active]
    return np.asarray(sigma)[np.ix_(active, active)] if np.shape(sigma) == (p, p) else sigma


def _check_suits(method: Method, estimator: Estimator, sample: Sample) -> None:
    if method.space.binary and (estimator.needs_gradients or not np.isin(sample.coordinates, (0.0, 1.0)).all()):
        raise OptionError(
            f"method {method.name!r} takes words out whole, expected a design of zeros and ones, and no gradients; "
            "use design='bernoulli', or space='token-scale'"
        )
    design, _ = method.regression
    uneven = not sample.exhaustive and np.ptp(sample.weights) > 0
    if estimator.needs_base and (isinstance(design, AdaptiveDesign) or uneven):
        raise OptionError(
            f"method {method.name!r} draws rows of several laws or weights, expected an estimator that regresses: a moment of "
            "one law would be biased; use estimator='least-squares'"
        )
    if not estimator.needs_gradients and not sample.deviations.any():
        raise OptionError(
            f"method {method.name!r} has rows that do not deviate from their centre, expected an estimator that works on "
            "gradients; use estimator='mean-gradient', or design='path'"
        )


def _base(oracle: ProbeOracle, sample: Sample, estimator: Estimator) -> tuple[float | None, int]:
    """Return the response at the centre of the law and the number of evaluations that it took."""
    if sample.center == 1.0:
        return oracle.text, 0
    if sample.center is None or sample.paired or not estimator.needs_base:
        return None, 0
    return float(oracle.fresh().responses(np.full((1, oracle.size), sample.center))[0]), 1


def _remarks(
    oracle: ProbeOracle, method: Method, answers: _Answers, r2: float | None, halves: float | None
) -> tuple[Note, ...]:
    probe = oracle.probe
    return tuple(
        remarks(
            sample=answers.sample,
            responses=answers.responses,
            text=oracle.text,
            probability=float(probabilities(probe.start, probe.output)[0, oracle.target]),
            link=method.link,
            r2=r2,
            halves=halves,
            estimate=answers.estimate,
            binary=method.space.binary,
            gradients=method.needs_gradients,
        )
    )


def _nothing_moves(oracle: ProbeOracle, began: float) -> Measurement:
    p = len(oracle.probe.widths)
    note = Note("constant", "no word differs from the reference: all scores are 0")
    fit = Fit(None, None, oracle.probe.n_setup, 0, time.perf_counter() - began)
    return Measurement(Estimate(np.zeros(p), no_scatter(p), 0.0), oracle.text, None, fit, (note,))
