"""From a probe to coefficients: draw the design, ask, solve, judge. Knows nothing of texts or frameworks."""

import time
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Fit, Note
from mase.covariance import covariance
from mase.errors import CapabilityError, OptionError
from mase.links import probabilities, respond
from mase.methods import Method
from mase.models.protocol import GradientProbe, HalfProbe, Probe
from mase.quality import adjusted_r2, condition, remarks, split_half
from mase.query import ask, ask_gradients
from mase.sample import Estimate, Law, Problem, Sample
from mase.stopping import NEVER, Stopping

__all__ = ["Effort", "Measurement", "Precision", "measure"]

Precision = Literal["float32", "bfloat16"]
# Rows on which half precision is tried, and the share of the signal that its noise may have.
_TRIAL_ROWS, _LARGEST_NOISE = 16, 0.1


@dataclass(frozen=True, slots=True)
class Effort:
    """How to ask: rows per forward pass (None: what suits the model), when to stop, and in which precision.

    ``"bfloat16"`` is used only if its noise on 16 rows is well under the signal on them; a remark says what was done.
    """

    batch_size: int | None = None
    stopping: Stopping = NEVER
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        if self.precision not in ("float32", "bfloat16"):
            raise OptionError(f"precision is {self.precision!r}, expected 'float32' or 'bfloat16'")


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, with their fit: the part of an explanation that knows nothing of text."""

    estimate: Estimate
    response: float
    fit: Fit


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked of a probe: the response of one target under one link, with derivatives for white-box estimators."""

    probe: Probe
    method: Method
    target: int
    batch_size: int | None

    def at_text(self) -> float:
        """Return the response at the text itself."""
        return float(self._respond(self.probe.start)[0])

    def at_center(self, center: float) -> float:
        """Return the response where all coordinates are `center`."""
        return float(self._respond(ask(self.probe, np.full((1, len(self.probe.widths)), center)))[0])

    def at(self, coordinates: Floats, first: int) -> tuple[Floats, Floats | None]:
        """Return responses `(n,)` at rows `first`, `first` + 1, ... `(n, p)`, and derivatives `(n, p)` if needed."""
        if not self.method.estimator.needs_gradients:
            return self._respond(ask(self.probe, coordinates, self.batch_size, first)), None
        if not isinstance(self.probe, GradientProbe):
            name = self.method.name
            raise CapabilityError(
                f"method {name!r} needs the model's gradients, which this model does not give; use method='mase'"
            )
        size = self.batch_size or self.probe.batch_size
        scores, gradients = ask_gradients(self.probe, coordinates, self.method.link, self.target, size, first)
        return self._respond(scores), gradients

    def _respond(self, scores: Floats) -> Floats:
        return respond(scores, self.probe.output, self.method.link, self.target)


@dataclass(frozen=True, slots=True)
class _Answers:
    """The first n rows of a sample, answered and solved."""

    sample: Sample
    responses: Floats
    gradients: Floats | None
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
    """
    began = time.perf_counter()
    question = _Question(probe, method, target, effort.batch_size)
    active = np.flatnonzero(probe.widths > 0)
    if not len(active):
        return _nothing_moves(question, began)
    law = Law(method.center, covariance(_of_moving(method.sigma, active, len(probe.widths)), probe.widths[active]))
    sample = method.design.draw(rng, method.n_samples, law)
    _check_binary(method, sample)
    base, extra = _base(question, sample)
    tried: tuple[Note, ...] = ()
    if effort.precision == "bfloat16":
        question, tried = _halved(question, _spread(sample, active, len(probe.widths))[:_TRIAL_ROWS])
        extra += 2 * _TRIAL_ROWS
    answers = _asked(question, sample, active, base, effort.stopping)
    r2 = adjusted_r2(answers.sample, answers.responses, answers.estimate)
    halves = split_half(answers.problem, method.estimator)
    n = len(answers.responses)
    fit = Fit(
        r2=r2,
        split_half=halves,
        condition=condition(answers.problem),
        n_queries=probe.n_setup + extra + n,
        n_gradients=0 if answers.gradients is None else n,
        seconds=time.perf_counter() - began,
        warnings=(*_remarks(question, answers, r2, halves), *effort.stopping.remarks(answers.estimate), *tried),
    )
    return Measurement(_embedded(answers.estimate, active, len(probe.widths)), question.at_text(), fit)


def _asked(question: _Question, sample: Sample, active: Ints, base: float | None, stopping: Stopping) -> _Answers:
    """Return the answers to as many rows as the stopping rule wants, all of them by default."""
    whole = _spread(sample, active, len(question.probe.widths))
    responses, slopes, answers = np.empty(0), np.empty((0, len(active))), None
    while True:
        first, goal = len(responses), stopping.goal(sample, None if answers is None else (answers.problem, answers.estimate))
        more, gradients = question.at(whole[first:goal], first)
        responses = np.concatenate([responses, more])
        slopes = slopes if gradients is None else np.concatenate([slopes, gradients[:, active]])
        kept = None if gradients is None else slopes
        head = sample.head(goal)
        problem = head.problem(responses, base, kept)
        answers = _Answers(head, responses, kept, problem, question.method.estimator.fit(problem))
        if goal == len(whole) or stopping.enough(answers.estimate):
            return answers


def _of_moving(sigma: Any, active: Ints, p: int) -> Any:
    """Return the part of a sigma `(p,)` or `(p, p)` that belongs to the coordinates that move."""
    if np.shape(sigma) == (p,):
        return np.asarray(sigma)[active]
    return np.asarray(sigma)[np.ix_(active, active)] if np.shape(sigma) == (p, p) else sigma


def _check_binary(method: Method, sample: Sample) -> None:
    if not method.space.binary:
        return
    if method.estimator.needs_gradients or not np.isin(sample.coordinates, (0.0, 1.0)).all():
        raise OptionError(
            f"method {method.name!r} takes words out whole, expected a design of zeros and ones, and no gradients; "
            "use design='bernoulli', or space='token-scale'"
        )


def _spread(sample: Sample, active: Ints, p: int) -> Floats:
    """Return the coordinates `(n, p)` of all words, 1 for those that cannot move."""
    whole = np.ones((len(sample.coordinates), p))
    whole[:, active] = sample.coordinates
    return whole


def _halved(question: _Question, rows: Floats) -> tuple[_Question, tuple[Note, ...]]:
    """Return the question put to the model in half precision if that is precise enough on some rows `(n, p)`, and why not."""
    if not isinstance(question.probe, HalfProbe):
        raise CapabilityError("half precision is for torch models, expected precision='float32' for a function of texts")
    half = replace(question, probe=question.probe.half())
    exact, rough = question.at(rows, 0)[0], half.at(rows, 0)[0]
    signal, noise = float(exact.std()), float((exact - rough).std())
    if noise <= _LARGEST_NOISE * signal:
        return half, ()
    message = f"half precision would add noise of {noise:.2g} to a signal of {signal:.2g}: float32 was used"
    return question, (Note("float32-instead", message),)


def _base(question: _Question, sample: Sample) -> tuple[float | None, int]:
    """Return the response at the centre of the law and the number of evaluations that it took."""
    if sample.center == 1.0:
        return question.at_text(), 0
    if sample.center is None or sample.paired or not question.method.estimator.needs_base:
        return None, 0
    return question.at_center(sample.center), 1


def _remarks(question: _Question, answers: _Answers, r2: float | None, halves: float | None) -> tuple[Note, ...]:
    probe, method = question.probe, question.method
    return tuple(
        remarks(
            responses=answers.responses,
            coordinates=answers.sample.coordinates,
            probability=float(probabilities(probe.start, probe.output)[0, question.target]),
            link=method.link,
            r2=r2,
            halves=halves,
            estimate=answers.estimate,
            binary=method.space.binary,
            gradients=method.estimator.needs_gradients,
        )
    )


def _nothing_moves(question: _Question, began: float) -> Measurement:
    p = len(question.probe.widths)
    note = Note("constant", "no word differs from the reference: all scores are 0")
    fit = Fit(None, None, None, question.probe.n_setup, 0, time.perf_counter() - began, (note,))
    return Measurement(Estimate(np.zeros(p), np.zeros((p, p)), 0.0), question.at_text(), fit)


def _embedded(estimate: Estimate, active: Ints, p: int) -> Estimate:
    if len(active) == p:
        return estimate
    gamma, spread = np.zeros(p), np.zeros((p, p))
    gamma[active], spread[np.ix_(active, active)] = estimate.gamma, estimate.covariance
    return Estimate(gamma, spread, estimate.dof, estimate.remark)
