"""Tests of `mase.estimators.lasso`."""

import numpy as np
import pytest
from scipy import stats

from mase.estimators.lasso import Lasso, jackknifed, solve_lasso
from mase.estimators.least_squares import LeastSquares
from mase.regression.covariance import covariance
from mase.regression.problem import Problem

P = 20


RNG = np.random.default_rng(11)


GAMMA = RNG.standard_normal(P)


def test_lasso_meets_its_optimality_conditions_and_agrees_with_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    z = RNG.standard_normal((200, P))
    y = z @ GAMMA + RNG.standard_normal(200)
    gram, cross = z.T @ z / 200, z.T @ y / 200
    for radius in (0.5, 3.0, 8.0):
        found = solve_lasso(gram, cross, radius)
        assert np.abs(found).sum() == pytest.approx(radius)
        level = np.abs(cross - gram @ found).max()
        assert np.abs(cross - gram @ found)[found != 0] == pytest.approx(level)
        theirs = linear_model.Lasso(alpha=level, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(z, y).coef_
        assert found == pytest.approx(theirs, abs=1e-5)
    assert solve_lasso(gram, cross, np.inf) == pytest.approx(np.linalg.solve(gram, cross))


def test_lasso_with_an_isotropic_gram_projects_onto_the_l1_ball():
    b = RNG.standard_normal(P)
    found = solve_lasso(np.eye(P), b, 2.0)
    level = np.abs(b).max() - np.abs(found).max()
    assert found == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - level, 0))


def test_lasso_bound_can_be_absolute_or_a_share():
    problem = Problem(
        RNG.standard_normal((100, P)), RNG.standard_normal(100), np.ones(100), 0.0, True, covariance(1.0, np.ones(P))
    )
    full = np.abs(LeastSquares().fit(problem).gamma).sum()
    assert np.abs(Lasso(share=0.3).fit(problem).gamma).sum() == pytest.approx(0.3 * full)
    assert np.abs(Lasso(radius=0.01).fit(problem).gamma).sum() == pytest.approx(0.01)
    for estimator in (Lasso(), Lasso(share=0.3), Lasso(radius=0.01)):
        assert estimator.solve(problem).tolist() == estimator.fit(problem).gamma.tolist()


@pytest.mark.parametrize("apart", [0, 1e-8])
@pytest.mark.parametrize("binary", [False, True])
def test_lasso_where_two_coordinates_are_one(binary, apart):
    """The factor of a singular matrix may exist, by rounding, and mean nothing: the optimum is met all the same."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        z = rng.integers(0, 2, (30, 4)) - 0.5 if binary else rng.standard_normal((30, 4))
        z[:, 1] = z[:, 0] + apart * rng.standard_normal(30)
        gram, cross = z.T @ z / 30, z.T @ (z @ [1, 1, -1, 0.5]) / 30
        for radius in (0.5, 1.0, 2.0):
            found = solve_lasso(gram, cross, radius)
            correlation = cross - gram @ found
            assert np.abs(found).sum() == pytest.approx(radius, rel=1e-6)
            assert correlation @ found == pytest.approx(np.abs(correlation).max() * radius, rel=1e-5)


def test_lasso_keeps_its_bound_where_there_are_fewer_rows_than_coefficients():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(8, 20))
        z = rng.integers(0, 2, (n, int(rng.integers(n, 2 * n)))) - 0.5
        z = (z - z.mean(axis=0)) * rng.uniform(0.3, 1, (n, 1))
        y = z @ rng.standard_normal(z.shape[1]) + 0.3 * rng.standard_normal(n)
        radius = 0.9 * np.abs(np.linalg.lstsq(z, y)[0]).sum()
        assert np.abs(solve_lasso(z.T @ z / n, z.T @ y / n, radius)).sum() <= radius * (1 + 1e-8), seed


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_intervals_of_the_lasso_cover_what_many_rows_give(share):
    """Also where the bound, which the rows decide as well, is all that varies: for one coordinate."""
    rng, estimator = np.random.default_rng(5), Lasso(share=share)
    covered = []
    for _ in range(400):
        z = rng.choice([-0.5, 0.5], size=(60, 1))
        found = estimator.fit(Problem(z, z[:, 0] + rng.standard_normal(60), np.ones(60), None, True, np.eye(1) / 4))
        covered.append(abs(found.gamma[0] - share) <= 1.96 * np.sqrt(found.variances[0]))
    assert 0.92 <= np.mean(covered) <= 0.98


def test_the_jackknife_leaves_out_a_tenth_and_is_widened_by_students_distribution():
    rng = np.random.default_rng(4)
    z, y = rng.standard_normal((40, 3)), rng.standard_normal(40)

    def solve(z, y):
        return np.linalg.lstsq(z, y, rcond=None)[0]

    left_out = np.array([solve(np.delete(z, range(k, 40, 10), 0), np.delete(y, range(k, 40, 10))) for k in range(10)])
    wider = (stats.t.ppf(0.975, 9) / stats.norm.ppf(0.975)) ** 2
    assert jackknifed(z, y, solve) == pytest.approx(wider * 9 / 10 * 9 * np.cov(left_out.T))
