"""More words than samples: time and memory grow with the number of words, not with its square or cube."""

import tracemalloc

import numpy as np
import pytest

import mase
from mase.designs.gaussian import Orthogonal
from mase.estimators.linear import Constrained, FixedRidge, LeastSquares, Moment, Ridge
from mase.estimators.sparse import Lasso
from mase.solve.distributions import MOST_CORRELATED, Covariance
from mase.solve.kernel import Gram
from mase.solve.problem import Distribution, Estimate, Problem

LONG = MOST_CORRELATED + 100
WORDS = 2500  # an array of words x words is 50 MB
SAMPLING = ["mase", "mase-mask", "lime", "lime-paper", "kernel-shap", "partition-shap"]


def problem(n=40, p=LONG, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, size=(n, p)) - 0.5
    y = z[:, 3] - 2 * z[:, 5] + 0.1 * rng.standard_normal(n)
    return Problem(z, y, np.ones(n), 0.0, True, Covariance(np.full(p, 0.5)))


def truth(texts):
    return [[1 - p, p] for p in (0.1 + 0.4 * ("w7 " in text) + 0.4 * ("w11 " in text) for text in texts)]


@pytest.mark.parametrize("method", SAMPLING)
@pytest.mark.slow
def test_memory_is_linear_in_the_words(method):
    explainer = mase.Explainer(truth, method=method, n_samples=60, evidence=0)
    text = " ".join(f"w{number}" for number in range(WORDS))
    explainer("a b c")
    tracemalloc.start()
    try:
        found = explainer(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.words) == WORDS
    assert np.isfinite(found.scores).all()
    assert np.isfinite(found.standard_errors).all()
    # A matrix of all pairs alone takes WORDS**2 * 8; kernel ridge regression has a score of each row and word.
    assert peak < WORDS**2 * 8 / (1.5 if method == "mase" else 3)


def test_a_note_says_that_so_many_words_cannot_be_told_apart():
    text = " ".join(f"w{number}" for number in range(300))
    notes = {note.code: note.message for note in mase.Explainer(truth, n_samples=100)(text).notes}
    enough = {note.code for note in mase.Explainer(truth, n_samples=400)(text).notes}
    assert "300" in notes["few-samples"]
    assert "few-samples" not in enough


@pytest.mark.slow
def test_ridge_is_that_of_the_normal_equations():
    case = problem()
    z, y = case.centred()
    found = Ridge(penalty=0.3).fit(case)
    scaled = z / 0.5
    inverse = np.linalg.inv(scaled.T @ scaled + case.n * 0.3 * np.eye(case.p))
    gamma = inverse @ scaled.T @ y / 0.5
    hat = scaled @ inverse @ scaled.T
    residuals = (y - z @ gamma) / np.maximum(1 - np.diag(hat), 0.05)
    spread = inverse @ scaled.T * residuals / 0.5
    s = np.linalg.svd(scaled, compute_uv=False)
    prior = y @ y / (s @ s)
    expected = (spread**2).sum(axis=1) + prior * (1 - np.diag(inverse @ scaled.T @ scaled)) / 0.25
    assert found.gamma == pytest.approx(gamma, abs=1e-10)
    assert found.covariance.shape == (case.p,)
    assert found.variances == pytest.approx(expected)
    assert Ridge(penalty=0.3).solve(case) == pytest.approx(gamma, abs=1e-10)


def test_lime_s_ridge_is_that_of_the_normal_equations():
    case = problem(p=60)
    z, y = case.centred()
    expected = np.linalg.solve(z.T @ z + np.eye(case.p), z.T @ y)
    assert FixedRidge().fit(case).gamma == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("estimator", [Ridge(), FixedRidge(), LeastSquares(), Lasso(), Moment()])
@pytest.mark.slow
def test_long_problems_have_variances_and_short_ones_covariances(estimator):
    assert estimator.fit(problem()).covariance.shape == (LONG,)
    assert estimator.fit(problem(p=50)).covariance.shape == (50, 50)


def test_the_bounded_regression_is_the_same_from_rows_as_from_the_matrix():
    from mase.estimators.sparse import solve_lasso

    case = problem(n=30, p=80)
    z, y = case.centred()
    rows = Gram.of_rows(z / np.sqrt(30))
    assert rows.matrix is None
    assert solve_lasso(rows, z.T @ y / 30, 1.0) == pytest.approx(solve_lasso(z.T @ z / 30, z.T @ y / 30, 1.0), abs=1e-9)
    assert rows.diagonal() == pytest.approx(np.diag(z.T @ z / 30))


def test_exact_rows_are_met_by_more_coefficients_than_rows():
    case = problem()
    whole = (np.ones((1, LONG)), np.array([2.5]))
    exact = Problem(case.z, case.y, case.weights, None, False, case.covariance, None, whole)
    found = Constrained().fit(exact)
    assert found.gamma.sum() == pytest.approx(2.5)
    assert found.covariance.shape == (LONG,)


def test_fewer_orthogonal_directions_than_words_are_orthogonal_and_of_the_law():
    distribution = Distribution(1.0, Covariance(np.full(400, 0.2)))
    rows = Orthogonal().draw(np.random.default_rng(0), 60, distribution).deviations[0::2]
    gram = rows @ rows.T
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-10
    assert np.diag(gram).mean() == pytest.approx(400 * 0.04, rel=0.05)


def test_coefficients_without_covariances_embed_and_sum():
    found = Estimate(np.arange(3.0), np.array([1.0, 4.0, 9.0]), 3.0)
    whole = found.embedded(np.array([0, 5, LONG - 1]), LONG)
    assert whole.variances[[0, 5, LONG - 1]].tolist() == [1.0, 4.0, 9.0]
    assert whole.variances.sum() == 14.0
    assert found.covariances(np.array([0, 1]), np.array([1, 2])).tolist() == [[0.0, 0.0], [4.0, 0.0]]
    small = Estimate(np.ones(2), np.array([[1.0, 0.5], [0.5, 2.0]]), 2.0).embedded(np.array([0, 2]), 4)
    assert small.covariance[0, 2] == 0.5
    assert small.covariance[1].tolist() == [0.0] * 4
