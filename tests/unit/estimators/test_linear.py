"""Tests of `mase.estimators.linear`."""

import numpy as np
import pytest
from tests.regressions import run

import mase
from mase.estimators.linear import LeastSquares, Ridge
from mase.models import Callable
from mase.solve.distributions import Components, covariance
from mase.solve.problem import Problem
from mase.testing import FunctionProbe, linear


@pytest.mark.slow
def test_intervals_of_few_rows_far_from_the_mean_cover():
    """Nearly all weight of `lime` is on the rows that keep the only word: they decide the intercept alone."""
    covered = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        model = Callable(lambda texts, rng=rng: rng.normal(size=(len(texts), 1)), labels=["v"], outputs="values")
        found = mase.Explainer(model, method="lime", n_samples=60, seed=seed)("film")
        covered.append(abs(found.scores[0]) <= 1.96 * found.standard_errors[0])
    assert np.mean(covered) > 0.8


RNG = np.random.default_rng(11)


FOCUSED = {"design": "focused(n_draws=0, sparse=0)", "estimator": "least-squares"}


def test_weighted_least_squares_and_hc3_follow_their_formulas():
    n, p = 60, 4
    z, weights = RNG.standard_normal((n, p)), RNG.uniform(0.1, 2, n)
    y = z @ np.arange(1.0, p + 1) + 0.5 + RNG.standard_normal(n) * np.abs(z[:, 0])
    found = LeastSquares().fit(Problem(z, y, weights, None, True, covariance(1.0, np.ones(p))))
    design = np.column_stack([np.ones(n), z])
    inverse = np.linalg.inv(design.T @ np.diag(weights) @ design)
    beta = inverse @ design.T @ (weights * y)
    hat = np.sqrt(weights)[:, None] * design @ inverse @ (design * np.sqrt(weights)[:, None]).T
    scaled = np.sqrt(weights) * (y - design @ beta) / (1 - np.diag(hat))
    half = inverse @ (design * np.sqrt(weights)[:, None]).T * scaled
    assert found.gamma == pytest.approx(beta[1:])
    assert found.covariance == pytest.approx((half @ half.T)[1:, 1:])


def test_each_group_of_rows_has_an_intercept():
    n, p = 60, 4
    z, groups = RNG.standard_normal((n, p)), np.arange(n) % 3
    weights = RNG.uniform(0.1, 2, n)
    y = z @ np.arange(1.0, p + 1) + 5.0 * groups + RNG.standard_normal(n)
    dummies = np.equal.outer(groups, np.arange(3)).astype(float)
    components = Components(dummies.T, np.full((3, p), 0.5))
    found = LeastSquares().fit(Problem(z, y, weights, None, True, covariance(1.0, np.ones(p)), components=components))
    whole = Problem(np.column_stack([z, dummies]), y, weights, None, False, covariance(1.0, np.ones(p + 3)))
    expected = LeastSquares().fit(whole)
    assert found.gamma == pytest.approx(expected.gamma[:p])
    assert found.covariance == pytest.approx(expected.covariance[:p, :p])


def test_least_squares_leaves_few_spare_rows_to_ridge():
    """Scores of 100 words, 10 of which count, from rows that hardly outnumber them: the ranking must not be noise."""
    truth = np.zeros(100)
    truth[:10] = 1.0
    jumpy = FunctionProbe(lambda c: c @ truth + 2.0 * (c[:, 20] * c[:, 30] - c[:, 40] * c[:, 50]), 100)
    for n_samples in (105, 115, 140):
        found = run(jumpy, "mase", n_samples=n_samples, **FOCUSED)
        assert np.isin(np.argsort(-found.estimate.gamma)[:10], range(10)).mean() >= 0.8
        assert "fallback" in {note.code for note in found.notes}
    assert "fallback" not in {note.code for note in run(jumpy, "mase", n_samples=200, **FOCUSED).notes}


def test_noise_of_every_response_gives_the_covariance_of_weighted_least_squares():
    """All rows that there are have no sampling error; responses with a variance of 1 give one of their own."""
    z = np.array([[a, b, c] for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.5, 0.5)])
    weights = np.random.default_rng(3).uniform(0.2, 2, 8)
    problem = Problem(z, np.arange(8.0), weights, None, True, covariance(0.5, np.ones(3)), exhaustive=True)
    columns = np.column_stack([np.ones(8), z])
    to_gamma = np.linalg.solve(columns.T @ (weights[:, None] * columns), columns.T * weights)[1:]
    found = LeastSquares().fit(problem)
    assert found.gamma == pytest.approx(to_gamma @ problem.y)
    assert found.of_noise == pytest.approx(to_gamma @ to_gamma.T)


P = 20


GAMMA = RNG.standard_normal(P)


def test_ridge_follows_its_formula_and_answers_with_too_few_rows():
    z, y = RNG.standard_normal((50, P)) * 0.1, RNG.standard_normal(50)
    found = Ridge(penalty=0.3).fit(Problem(z, y, np.ones(50), None, False, covariance(0.1, np.ones(P))))
    assert found.gamma == pytest.approx(np.linalg.solve(z.T @ z / 50 + 0.3 * 0.01 * np.eye(P), z.T @ y / 50))
    few = run(linear(GAMMA), n_samples=20)
    assert np.isfinite(few.estimate.gamma).all()
    assert np.isfinite(few.estimate.covariance).all()
    assert {"fallback", "few-samples"} <= {note.code for note in few.notes}
    assert few.r2 is None or few.r2 > 0.5  # the truth is linear


def test_a_penalty_that_all_rows_fit_through_is_none():
    """About as many rows as coordinates: on noise alone the criterion may choose next to none, a perfect fit."""
    rng = np.random.default_rng(5)
    for seed in range(40):
        z, y = rng.integers(0, 2, size=(20, 19)) - 0.5, np.random.default_rng(seed).standard_normal(20)
        assert Ridge().fit(Problem(z, y, np.ones(20), None, True, covariance(0.5, np.ones(19)))).dof <= 0.8 * 19 + 1e-9


def test_ridge_does_not_shrink_what_every_penalty_explains_as_well():
    """Fewer orthogonal rows than coordinates: the least of the penalties that are as good, not any."""
    z, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 20)))
    truth = z.T[3]
    y = z.T @ truth
    found = Ridge().fit(Problem(z.T, y, np.ones(20), None, False, covariance(1.0, np.ones(40))))
    assert found.gamma == pytest.approx(truth, abs=0.3 * float(np.linalg.norm(truth)))


def test_the_covariance_of_ridge_is_a_sandwich_and_what_rows_leave_of_the_prior():
    rng = np.random.default_rng(1)
    z, y = rng.standard_normal((12, 20)) * 0.1, rng.standard_normal(12)
    found = Ridge(penalty=0.3).fit(Problem(z, y, np.ones(12), None, False, covariance(0.1, np.ones(20))))
    scaled = z / 0.1
    to_gamma = np.linalg.solve(scaled.T @ scaled + 12 * 0.3 * np.eye(20), scaled.T)
    residuals = (y - scaled @ to_gamma @ y) / (1 - np.diag(scaled @ to_gamma))
    prior = np.sum(y**2) / np.sum(scaled**2)
    expected = to_gamma @ np.diag(residuals**2) @ to_gamma.T + prior * (np.eye(20) - to_gamma @ scaled)
    assert found.covariance == pytest.approx(expected / 0.1**2)


def test_all_rows_that_there_are_need_no_penalty():
    z = np.array([[a, b, c] for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.5, 0.5)])
    y = np.random.default_rng(2).standard_normal(8)
    found = Ridge().fit(Problem(z, y, np.ones(8), None, True, covariance(0.5, np.ones(3)), exhaustive=True))
    assert found.gamma == pytest.approx([y[column > 0].mean() - y[column < 0].mean() for column in z.T])


@pytest.mark.parametrize("n_words", [3, 5])
def test_ridge_regression_of_all_rows_of_an_additive_model_is_exact(n_words):
    worths = dict(zip("abcde"[:n_words], (0.31, -0.17, 0.07, 0.0, 0.13), strict=False))
    model = Callable(lambda texts: [[sum(map(worths.get, text.split()))] for text in texts], outputs="values")
    for method in ("mase+estimator=ridge", "lime+estimator=ridge", "kernel-shap+estimator=ridge"):
        found = mase.Explainer(model, method=method)(" ".join(worths))
        assert found.scores == pytest.approx([*worths.values()], abs=1e-9)


def test_closed_forms_are_there_for_short_texts():
    pytest.importorskip("torch")
    for text in ("a great movie", "a great movie that I loved much more than all of them"):
        found = mase.Explainer("lstm-imdb", method="context-cite+estimator=moment")(text)
        assert np.isfinite(found.scores).all()
