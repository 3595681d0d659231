"""Contract checks for every kind of component. A check raises AssertionError if the component breaks its contract."""

from collections.abc import Callable as Function
from dataclasses import replace
from io import BytesIO
from typing import BinaryIO

import numpy as np

from mase.arrays import Floats
from mase.attribution.attribution import Attribution
from mase.attribution.json import Failure
from mase.explainer import Explainer
from mase.methods import Method
from mase.metrics.base import Instance, Metric
from mase.metrics.masking import masker
from mase.models.base import Model
from mase.models.function import Callable
from mase.outputs.formats import Output
from mase.registry import completed
from mase.solve.distributions import Components, covariance
from mase.solve.problem import Design, Distribution, Estimator, Problem, Sample
from mase.solve.strategy import Strategy
from mase.spaces import SPACES, Noise, Space
from mase.testing.models import AdditiveClassifier

_TEXT = "the cast is superb but the plot is dull and that's all"
_WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "all": 0.03, "but": -0.05}


def check_design(design: Design, *, n: int = 400, p: int = 7, distribution: Distribution | None = None) -> None:
    """Check a design: shapes, row budget, first two moments, mirrored rows, and equal rows from equal generators.

    The moments are those of its distribution, or of the components of its rows. Of a design that knows the sample to
    which its samples converge, check that it has each of the 2^p rows once.
    """
    design = completed(design, Design)
    target = distribution or design.distribution(np.ones(p))
    sample = design.draw(np.random.default_rng(3), n, target)
    again = design.draw(np.random.default_rng(3), n, target)
    rows = len(sample.coordinates)
    assert rows <= n, f"{rows} rows for a budget of {n}"
    assert rows >= n - 1 or sample.exhaustive, f"{rows} rows for a budget of {n}"
    assert sample.coordinates.shape == sample.deviations.shape == (rows, p)
    assert sample.weights.shape == (rows,)
    assert (sample.weights > 0).all()
    assert np.array_equal(sample.coordinates, again.coordinates), "equal generators gave different rows"
    if sample.center is not None:
        assert np.allclose(sample.coordinates - sample.deviations, sample.center)
    if sample.components is not None:
        _check_components(sample.components, rows, p)
    if sample.paired:
        assert np.array_equal(sample.deviations[0::2], -sample.deviations[1::2]), "rows are not mirrored"
    many = design.draw(np.random.default_rng(4), 20_000, target)
    if many.components is None:
        _check_moments(many, target)
    else:
        _check_rates(many.coordinates, many.components)
    if design.enumerates:
        _check_exhaustive(design.exhaustive(target), design.exhaustive(target, np.arange(float(p))))


def _check_components(components: Components, n: int, p: int) -> None:
    """Check the components of n rows of p coordinates."""
    assert np.allclose(components.shares.sum(axis=0), np.ones(n)), (
        "the shares of the components do not sum to 1 for each row"
    )
    assert components.rates.shape == (len(components.shares), p), "a component has not one rate for each coordinate"
    assert ((components.rates >= 0) & (components.rates <= 1)).all(), "a rate is no probability"


def _check_exhaustive(first: Sample, later: Sample) -> None:
    """Check the rows of a first and a later round."""
    p = first.coordinates.shape[1]
    assert first.exhaustive, "all rows do not count as exhaustive"
    assert np.isin(first.coordinates, (0.0, 1.0)).all(), "a coordinate is neither 0 nor 1"
    assert len(np.unique(first.coordinates, axis=0)) == len(first.coordinates) == 2**p, "not each row once"
    assert np.array_equal(first.coordinates, later.coordinates), "the rounds have other rows"
    for weights in (first.weights, later.weights):
        assert (weights > 0).all(), "a row has no weight"
    assert np.isclose(first.weights.sum(), later.weights.sum()), "the rounds have other total weights"


def _check_moments(sample: Sample, distribution: Distribution) -> None:
    """Check mean and second moments of z; enumerated rows are weighted, and their mean need not be 0."""
    n_skipped = sample.n_exact * (2 if sample.paired else 1)
    z, weights = sample.deviations[n_skipped:], sample.weights[n_skipped:]
    if not z.any():
        return  # rows for gradients only, without deviations
    share = weights / weights.sum() if sample.exhaustive else np.full(len(z), 1 / len(z))
    spread = np.sqrt(np.diag(distribution.covariance.matrix()))
    if not sample.exhaustive:
        assert (np.abs(share @ z) < 0.05 * spread).all(), "the mean is off"
    relative = ((z * share[:, None]).T @ z - distribution.covariance.matrix()) / np.outer(spread, spread)
    assert np.abs(relative).max() < 0.05, "the covariance is off"


def _check_rates(coordinates: Floats, components: Components) -> None:
    """Check that the rows of each component are independent coins of its rates."""
    for share, rates in zip(components.shares, components.rates, strict=True):
        rows = coordinates[share > 0]
        if len(rows):
            spread = np.sqrt(rates * (1 - rates))
            z = (rows - rates) / spread
            assert np.abs(z.mean(axis=0)).max() < 0.05, "the rates are off"
            assert np.abs(z.T @ z / len(z) - np.eye(len(rates))).max() < 0.1, "the covariance is off"


def check_estimator(
    estimator: Estimator, *, tolerance: float = 0.1, equivariant: bool = True, masks: bool = False
) -> None:
    """Check an estimator: shapes, finite values, covariance, scale equivariance and the coefficients of a linear model.

    The covariance must be positive semi-definite, or all NaN. `tolerance` bounds the relative error on an exactly
    linear model of 6 coordinates from 4,000 rows, which are Gaussian, or `masks`: fair coins. An estimator with an
    absolute penalty, or one that computes in single precision, need not be `equivariant`.
    """
    rng = np.random.default_rng(5)
    gamma = np.array([2.0, -1.0, 0.5, 0.0, 1.5, -0.25])
    z = 0.3 * rng.standard_normal((4000, 6))
    if masks:
        z = np.where(z > 0, 0.5, -0.5)
    distribution = covariance(0.5 if masks else 0.3, np.ones(6))
    slopes = np.broadcast_to(gamma, z.shape)
    problem = Problem(z, 0.7 + z @ gamma, np.ones(len(z)), 0.7, True, distribution, slopes)
    estimate = estimator.fit(problem)
    assert estimate.gamma.shape == (6,)
    assert estimate.covariance.shape == (6, 6)
    assert np.isfinite(estimate.gamma).all()
    unknown = np.isnan(estimate.covariance).all()
    assert unknown or np.linalg.eigvalsh(estimate.covariance).min() >= -1e-12
    error = np.linalg.norm(estimate.gamma - gamma) / np.linalg.norm(gamma)
    assert error < tolerance, f"relative error {error:.3f} on a linear model"
    tripled = estimator.fit(Problem(z, 3 * (0.7 + z @ gamma), np.ones(len(z)), 2.1, True, distribution, 3 * slopes))
    assert not equivariant or np.allclose(tripled.gamma, 3 * estimate.gamma, rtol=1e-6, atol=1e-9), (
        "not equivariant under scaling the response"
    )


def check_space(space: Space, *, t: int = 5, d: int = 4) -> None:
    """Check a space: shapes, that c = 1 without noise is the text itself, and that a token without offset is fixed."""
    rng = np.random.default_rng(6)
    embeddings, reference = rng.standard_normal((t, d)), np.zeros((t, d))
    embeddings[2] = reference[2]
    offset = space.offset(embeddings, reference)
    zero_noise = Noise(np.zeros((3, t, d)), np.zeros((3, t)), 0.1)
    unperturbed = space.apply(np.ones((3, t)), embeddings, offset, zero_noise)
    assert unperturbed.shape == (3, t, d)
    assert np.allclose(unperturbed, embeddings), "c = 1 is not the text"
    assert np.asarray(space.scale(embeddings)).shape == (t,)
    noise = Noise(rng.standard_normal((3, t, d)), rng.random((3, t)), 0.1) if space.noisy else None
    moved = space.apply(rng.random((3, t)), embeddings, offset, noise)
    assert np.isfinite(moved).all()
    if noise is None:
        assert np.allclose(moved[:, 2], embeddings[2]), "a token without offset moved"


def check_model(model: Model, text: str) -> None:
    """Check a model on one text: tokens, probabilities, and a reproducible, locally accurate explanation."""
    tokens = model.encode(text)
    assert len(tokens) > 0
    for span, fixed in zip(tokens.spans, tokens.fixed, strict=True):
        assert fixed or span is None or 0 <= span[0] <= span[1] <= len(text), "a span is outside the text"
    probabilities = model.predict([text, text])
    assert probabilities.shape == (2, len(model.labels))
    assert np.allclose(probabilities[0], probabilities[1])
    explainer = Explainer(model, n_samples=64, seed=1, evidence=0)
    first, second = explainer(text), explainer(text)
    assert first == second, "equal seeds gave different explanations"
    assert np.isfinite(first.scores).all()
    assert np.isfinite(first.standard_errors).all()
    assert abs(first.intercept + first.scores.sum() - first.response) < 1e-9, "local accuracy is broken"
    assert abs(first.prediction.probability - probabilities[0].max()) < 1e-4
    assert all(text[unit.start : unit.end] == unit.text for unit in first.units)


def check_procedure(procedure: Strategy, model: Model, text: str, *, n: int = 64) -> None:
    """Check a procedure on one text of a model: its budget, its cost, reproducibility and finite scores."""
    procedure, space = completed(procedure, Strategy), SPACES["token-scale"](reference="auto")
    method = Method("checked", "The procedure that is checked.", space, procedure, n_samples=n)
    first, second = (Explainer(model, method=method, link="logit", seed=4, evidence=0)(text) for _ in range(2))
    assert first == second, "equal seeds gave different explanations"
    assert np.isfinite(first.scores).all()
    assert len(set(np.isfinite(first.standard_errors).tolist())) == 1, "some scores have a standard error, others none"
    n_setup = 2  # the text, and the text with every token replaced by the reference
    n_repeated = 7  # five rows once more, alone, and if the answers to one differ, twice again
    assert first.fit.n_queries <= n + n_setup + n_repeated, f"{first.fit.n_queries} evaluations for a budget of {n}"
    assert procedure.needs_gradients == (first.fit.n_gradients > 0), (
        "needs_gradients does not say whether the procedure used gradients"
    )


def check_metric(metric: Metric) -> None:
    """Check that a metric gives one number per column, and that `better` names the right direction.

    The model adds up the worth of its words. In no column may the true scores be worse than their opposite, or exact
    reruns be worse than noisy ones.
    """
    metric, noise = completed(metric, Metric), np.random.default_rng(0)
    worths = np.array([_WORTH.get(word, 0.0) for word in _TEXT.split()])
    model = Callable(AdditiveClassifier(_WORTH), labels=["neg", "pos"])
    bound = masker(model, _TEXT)
    instance = Instance(model, _TEXT, bound.target, bound, worths, seed=3)
    good = metric.evaluate(replace(instance, rescore=lambda _model, _seed: worths))
    noisy = replace(instance, rescore=lambda _model, _seed: worths + noise.normal(0, 0.2, len(worths)))
    bad = metric.evaluate(noisy if metric.needs_rescore else replace(noisy, scores=-worths))
    columns = metric.columns
    assert np.shape(good) == (len(columns),), f"{np.shape(good)} numbers for {len(columns)} columns"
    assert len({column.name for column in columns}) == len(columns), "two columns have the same name"
    assert any(column.headline for column in columns), "no column is a headline, so tables would show none"
    for column, true, false in zip(columns, good, bad, strict=True):
        advantage = true - false if column.better == "higher" else false - true
        assert advantage >= 0 or np.isnan(advantage), f"{column.name}: {true} for true scores, {false} for wrong ones"


def check_output(make: Function[[BinaryIO], Output]) -> None:
    """Check an output: it writes to its stream, equal results give equal bytes, and the stream stays open."""
    attribution = Explainer(AdditiveClassifier(_WORTH), n_samples=64, evidence=0)(_TEXT)
    first, again = (_written(make, attribution) for _ in range(2))
    assert first, "nothing was written"
    assert first == again, "equal results gave different bytes"


def _written(make: Function[[BinaryIO], Output], attribution: Attribution) -> bytes:
    stream = BytesIO()
    output = make(stream)
    output.add(1, attribution)
    output.add(2, Failure(2, "EmptyTextError", "text '' has no word"))
    output.close()
    assert not stream.closed, "the output closed its stream, expected it to leave that to the caller"
    return stream.getvalue()
