"""From a probe to coefficients: draw the design, ask, solve, judge. Knows nothing of texts or frameworks."""

import time
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Fit
from mase.covariance import covariance
from mase.errors import CapabilityError
from mase.links import probabilities, respond
from mase.methods import Method
from mase.models.protocol import GradientProbe, Probe
from mase.quality import adjusted_r2, condition, remarks, split_half
from mase.query import ask, ask_gradients
from mase.sample import Estimate, Law, Sample

__all__ = ["Measurement", "measure"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Coefficients of one probe for one target, with their fit: the part of an explanation that knows nothing of text."""

    estimate: Estimate
    response: float
    fit: Fit


def measure(probe: Probe, method: Method, target: int, rng: np.random.Generator, batch_size: int | None = None) -> Measurement:
    """Ask a probe as a method says and solve for the coefficients `(p,)`; coordinates that move nothing get exactly 0.

    Raises
    ------
    CapabilityError
        If the method needs gradients and the probe has none.
    """
    began = time.perf_counter()
    active = np.flatnonzero(probe.widths > 0)
    response = float(respond(probe.start, probe.output, method.link, target)[0])
    probability = float(probabilities(probe.start, probe.output)[0, target])
    if not len(active):
        still = Estimate(
            np.zeros(len(probe.widths)), np.zeros((len(probe.widths),) * 2), 0.0, "no word differs from the reference"
        )
        return Measurement(still, response, Fit(None, None, None, probe.n_setup, 0, time.perf_counter() - began))
    law = Law(method.center, covariance(method.sigma, probe.widths[active]))
    sample = method.design.draw(rng, method.n_samples, law)
    coordinates = np.ones((len(sample.coordinates), len(probe.widths)))
    coordinates[:, active] = sample.coordinates
    responses, gradients = _responses(probe, method, target, coordinates, batch_size)
    base, asked = _base(probe, method, sample, target, response)
    problem = sample.problem(responses, base)
    if gradients is not None:
        averaged = (gradients[0::2] + gradients[1::2]) / 2 if sample.paired else gradients
        problem = replace(problem, gradients=averaged[:, active])
    estimate = method.estimator.fit(problem)
    r2 = adjusted_r2(sample, responses, estimate)
    halves = split_half(problem, method.estimator)
    notes = remarks(
        n_rows=len(responses), n_coordinates=len(active), responses=responses, coordinates=sample.coordinates,
        probability=probability, link=method.link, r2=r2, halves=halves, estimate=estimate, binary=method.space.binary,
        gradients=method.estimator.needs_gradients,
    )  # fmt: skip
    n_gradients = 0 if gradients is None else len(gradients)
    fit = Fit(
        r2,
        halves,
        condition(problem),
        probe.n_setup + asked + len(responses),
        n_gradients,
        time.perf_counter() - began,
        tuple(notes),
    )
    return Measurement(_embedded(estimate, active, len(probe.widths)), response, fit)


def _responses(
    probe: Probe, method: Method, target: int, coordinates: Floats, batch_size: int | None
) -> tuple[Floats, Floats | None]:
    """Return responses `(n,)` and, for white-box estimators, their derivatives `(n, p)`."""
    if not method.estimator.needs_gradients:
        return respond(ask(probe, coordinates, batch_size), probe.output, method.link, target), None
    if not isinstance(probe, GradientProbe):
        raise CapabilityError(
            f"method {method.name!r} needs the model's gradients, which this model does not give; use method='mase'"
        )
    scores, gradients = ask_gradients(probe, coordinates, method.link, target, batch_size or probe.batch_size)
    return respond(scores, probe.output, method.link, target), gradients


def _base(probe: Probe, method: Method, sample: Sample, target: int, response: float) -> tuple[float | None, int]:
    """Return the response at the centre of the law and the number of evaluations that it took."""
    if sample.center == 1.0:
        return response, 0
    if sample.center is None or sample.paired or not method.estimator.needs_base:
        return None, 0
    scores = probe.scores(np.full((1, len(probe.widths)), sample.center), np.zeros(1, dtype=np.int64))
    return float(respond(scores, probe.output, method.link, target)[0]), 1


def _embedded(estimate: Estimate, active: Ints, p: int) -> Estimate:
    if len(active) == p:
        return estimate
    gamma, spread = np.zeros(p), np.zeros((p, p))
    gamma[active], spread[np.ix_(active, active)] = estimate.gamma, estimate.covariance
    return Estimate(gamma, spread, estimate.dof, estimate.remark)
