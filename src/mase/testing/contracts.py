"""What every part of the library promises. Each check raises AssertionError with what is broken."""

from collections.abc import Callable as Function
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO

import numpy as np

from mase.attribution import Attribution
from mase.explainer import Explainer
from mase.io.json import Failure
from mase.methods import Method
from mase.metrics.masking import masker
from mase.metrics.protocol import Instance, Metric
from mase.models import Callable
from mase.models.protocol import Model
from mase.outputs.protocol import Output
from mase.regression.covariance import covariance
from mase.regression.problem import Design, Distribution, Estimator, Problem, Sample
from mase.regression.strategy import Strategy
from mase.spaces import SPACES
from mase.spaces.protocol import Noise, Space
from mase.testing.classifiers import AdditiveClassifier

__all__ = [
    "check_design",
    "check_estimator",
    "check_metric",
    "check_model",
    "check_output",
    "check_procedure",
    "check_space",
]


_TEXT = "the cast is superb but the plot is dull and that's all"
_WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "all": 0.03, "but": -0.05}


def check_design(design: Design, *, n: int = 400, p: int = 7, distribution: Distribution | None = None) -> None:
    """Check shapes, the row budget, the law's first two moments, mirrored rows, and that a generator gives the same rows."""
    wanted = distribution or design.distribution(np.ones(p))
    sample = design.draw(np.random.default_rng(3), n, wanted)
    again = design.draw(np.random.default_rng(3), n, wanted)
    rows = len(sample.coordinates)
    assert rows <= n, f"{rows} rows for a budget of {n}"
    assert rows >= n - 1 or sample.exhaustive, f"{rows} rows for a budget of {n}"
    assert sample.coordinates.shape == sample.deviations.shape == (rows, p)
    assert sample.weights.shape == (rows,)
    assert (sample.weights > 0).all()
    assert np.array_equal(sample.coordinates, again.coordinates), "the same generator gave other rows"
    if sample.center is not None:
        assert np.allclose(sample.coordinates - sample.deviations, sample.center)
    if sample.paired:
        assert np.array_equal(sample.deviations[0::2], -sample.deviations[1::2]), "rows are not mirrored"
    _check_moments(design.draw(np.random.default_rng(4), 20_000, wanted), wanted)


def _check_moments(sample: Sample, distribution: Distribution) -> None:
    """Check mean and second moments of z; rows that are not drawn count by their weights, and their mean is not 0."""
    left_out = sample.n_exact * (2 if sample.paired else 1)
    z, weights = sample.deviations[left_out:], sample.weights[left_out:]
    if not z.any():
        return  # a path for gradients: no row deviates
    share = weights / weights.sum() if sample.exhaustive else np.full(len(z), 1 / len(z))
    spread = np.sqrt(np.diag(distribution.covariance.matrix()))
    if not sample.exhaustive:
        assert (np.abs(share @ z) < 0.05 * spread).all(), "the mean is off"
    relative = ((z * share[:, None]).T @ z - distribution.covariance.matrix()) / np.outer(spread, spread)
    assert np.abs(relative).max() < 0.05, "the covariance is off"


def check_estimator(estimator: Estimator, *, tolerance: float = 0.1) -> None:
    """Check shapes, finite values, positive semi-definite covariance, scale equivariance and a linear model's coefficients.

    `tolerance` bounds the relative error on an exactly linear model of 6 coordinates from 4,000 rows.
    """
    rng = np.random.default_rng(5)
    gamma = np.array([2.0, -1.0, 0.5, 0.0, 1.5, -0.25])
    z = 0.3 * rng.standard_normal((4000, 6))
    distribution = covariance(0.3, np.ones(6))
    slopes = np.broadcast_to(gamma, z.shape)
    problem = Problem(z, 0.7 + z @ gamma, np.ones(len(z)), 0.7, True, distribution, slopes)
    estimate = estimator.fit(problem)
    assert estimate.gamma.shape == (6,)
    assert estimate.covariance.shape == (6, 6)
    assert np.isfinite(estimate.gamma).all()
    assert np.linalg.eigvalsh(estimate.covariance).min() >= -1e-12
    error = np.linalg.norm(estimate.gamma - gamma) / np.linalg.norm(gamma)
    assert error < tolerance, f"relative error {error:.3f} on a linear model"
    tripled = estimator.fit(Problem(z, 3 * (0.7 + z @ gamma), np.ones(len(z)), 2.1, True, distribution, 3 * slopes))
    assert np.allclose(tripled.gamma, 3 * estimate.gamma, rtol=1e-6, atol=1e-9), (
        "not equivariant under scaling the response"
    )


def check_space(space: Space, *, t: int = 5, d: int = 4) -> None:
    """Check shapes, that c = 1 without noise is the text itself, and that a token of no offset never moves."""
    rng = np.random.default_rng(6)
    embeddings, reference = rng.standard_normal((t, d)), np.zeros((t, d))
    embeddings[2] = reference[2]
    offset = space.offset(embeddings, reference)
    quiet = Noise(np.zeros((3, t, d)), np.zeros((3, t)), 0.1)
    same = space.apply(np.ones((3, t)), embeddings, offset, quiet)
    assert same.shape == (3, t, d)
    assert np.allclose(same, embeddings), "c = 1 is not the text"
    assert np.asarray(space.scale(embeddings)).shape == (t,)
    loud = Noise(rng.standard_normal((3, t, d)), rng.random((3, t)), 0.1) if space.noisy else None
    moved = space.apply(rng.random((3, t)), embeddings, offset, loud)
    assert np.isfinite(moved).all()
    if loud is None:
        assert np.allclose(moved[:, 2], embeddings[2]), "a token without offset moved"


def check_model(model: Model, text: str) -> None:
    """Check a model on one text: tokens, probabilities, an explanation that repeats itself and sums up to the response."""
    tokens = model.encode(text)
    assert len(tokens) > 0
    for span, fixed in zip(tokens.spans, tokens.fixed, strict=True):
        assert fixed or span is None or 0 <= span[0] <= span[1] <= len(text), "a span is outside the text"
    chance = model.predict([text, text])
    assert chance.shape == (2, len(model.labels))
    assert np.allclose(chance[0], chance[1])
    explainer = Explainer(model, n_samples=64, seed=1)
    first, second = explainer(text), explainer(text)
    assert first == second, "the same seed gave another answer"
    assert np.isfinite(first.scores).all()
    assert np.isfinite(first.standard_errors).all()
    assert abs(first.intercept + first.scores.sum() - first.response) < 1e-9, "local accuracy is broken"
    assert abs(first.prediction.probability - chance[0].max()) < 1e-4
    assert all(text[unit.start : unit.end] == unit.text for unit in first.units)


def check_procedure(procedure: Strategy, model: Model, text: str, *, n: int = 64) -> None:
    """Check a procedure on one text of a model: its budget, its cost, that it repeats itself and that its scores are finite."""
    space = SPACES["token-scale"](reference="auto")
    method = Method("checked", "A procedure under check.", space, procedure, n_samples=n)
    first, second = (Explainer(model, method=method, link="logit", seed=4)(text) for _ in range(2))
    assert first == second, "the same seed gave another answer"
    assert np.isfinite(first.scores).all()
    assert len(set(np.isfinite(first.standard_errors).tolist())) == 1, "some scores have a standard error, others none"
    set_up = 2  # the text, and the text of references
    assert first.fit.n_queries <= n + set_up, f"{first.fit.n_queries} evaluations for a budget of {n}"
    assert procedure.needs_gradients == (first.fit.n_gradients > 0), "needs_gradients is not what was asked for"


def check_metric(metric: Metric) -> None:
    """Check that a metric gives one number per column, and which offset is better.

    On a model that adds up what words are worth, scores that are these worths must not be behind their opposite, nor
    exact reruns behind noisy ones; in some column that tables show they must be ahead, or nothing could be.
    """
    noise = np.random.default_rng(0)
    worths = np.array([_WORTH.get(word, 0.0) for word in _TEXT.split()])
    model = Callable(AdditiveClassifier(_WORTH), labels=["neg", "pos"])
    bound = masker(model, _TEXT)
    case = Instance(model, _TEXT, bound.target, bound, worths, seed=3)
    good = metric.evaluate(replace(case, rescore=lambda _model, _seed: worths))
    noisy = replace(case, rescore=lambda _model, _seed: worths + noise.normal(0, 0.2, len(worths)))
    bad = metric.evaluate(noisy if metric.needs_rescore else replace(noisy, scores=-worths))
    columns = metric.columns
    assert np.shape(good) == (len(columns),), f"{np.shape(good)} numbers for {len(columns)} columns"
    assert len({column.name for column in columns}) == len(columns), "two columns have one name"
    assert any(column.headline for column in columns), "tables would show no column"
    for column, one, other in zip(columns, good, bad, strict=True):
        ahead = one - other if column.better == "higher" else other - one
        assert ahead >= 0 or np.isnan(ahead), f"{column.name}: {one} for true scores, {other} for their opposite"


def check_output(make: Function[[BinaryIO], Output]) -> None:
    """Check that an output writes results to its stream, the same bytes for the same results, and leaves the stream open."""
    found = Explainer(AdditiveClassifier(_WORTH), n_samples=64)(_TEXT)
    first, again = (_written(make, found) for _ in range(2))
    assert first, "nothing was written"
    assert first == again, "the same results gave other bytes"


def _written(make: Function[[BinaryIO], Output], found: Attribution) -> bytes:
    stream = BytesIO()
    output = make(stream)
    output.add(1, found)
    output.add(2, Failure(2, "EmptyTextError", "text '' has no word"))
    output.close()
    assert not stream.closed, "the stream was closed, expected that its owner does"
    return stream.getvalue()
