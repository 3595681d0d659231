"""Tests of `mase.estimators.sparse`."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import linprog
from tests.regressions import run

from mase.errors import OptionError
from mase.estimators.linear import LeastSquares
from mase.estimators.sparse import Lasso, PenalisedLasso, Sparse, jackknifed, minimum_l1, soft_threshold, solve_lasso
from mase.solve.distributions import covariance
from mase.solve.problem import Problem
from mase.testing import smooth

P = 20


RNG = np.random.default_rng(11)


def test_soft_threshold_is_the_linear_program_of_a_diagonal_sigma():
    b, tol = RNG.standard_normal(P), 0.4
    deviations = RNG.uniform(0.1, 2, P)
    assert soft_threshold(b, tol, deviations**2) == pytest.approx(
        _whole_program(np.diag(deviations**2), b, tol), abs=1e-9
    )


def _whole_program(matrix, b, tol):
    p = len(b)
    solved = linprog(
        np.ones(2 * p),
        np.block([[matrix, -matrix], [-matrix, matrix]]),
        np.concatenate([b + tol, tol - b]),
        bounds=(0, None),
    )
    return solved.x[:p] - solved.x[p:]


@pytest.mark.parametrize("correlation", [0.3, 0.9])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_generated_program_is_the_whole_program(correlation, share):
    p = 60
    matrix = 0.01 * correlation ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    b = matrix @ np.where(RNG.random(p) < 0.2, RNG.standard_normal(p), 0) + 1e-3 * RNG.standard_normal(p)
    tol = share * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    assert np.abs(found).sum() == pytest.approx(np.abs(_whole_program(matrix, b, tol)).sum(), rel=1e-7)
    assert (np.abs(b - matrix @ found) - tol).max() / np.abs(b).max() <= 1e-8


def test_program_of_512_correlated_coordinates_meets_its_optimality_conditions():
    p, rng = 512, np.random.default_rng(2)
    matrix = 0.01 * 0.7 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    z = rng.standard_normal((1000, p)) @ np.linalg.cholesky(matrix).T
    truth = np.where(rng.random(p) < 0.06, rng.standard_normal(p), 0)
    b = (z * (z @ truth)[:, None]).mean(axis=0)
    tol = 0.1 * np.abs(b).max()
    found = minimum_l1(matrix, b, tol)
    scale = np.abs(b).max()
    residual = b - matrix @ found
    support, tight = np.flatnonzero(found), np.flatnonzero(np.abs(residual) > tol - 1e-9 * scale)
    assert (np.abs(residual) - tol).max() / scale <= 1e-8  # primal feasible
    # A dual certificate on the tight rows, S_tight' d = sign(g) on the support and |S' d| <= 1: the optimum's price.
    price, *_ = np.linalg.lstsq(matrix[np.ix_(tight, support)].T, np.sign(found[support]))
    assert np.abs(matrix[:, tight] @ price).max() <= 1 + 1e-8
    assert (price * residual[tight] >= -1e-8).all()
    gap = b[tight] @ price - tol * np.abs(price).sum() - np.abs(found).sum()
    assert abs(gap) / np.abs(found).sum() <= 1e-8


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
@pytest.mark.slow
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


def problem(n=60, p=12, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, (n, p)) - 0.5
    y = 2 + z @ rng.standard_normal(p) + rng.standard_normal(n)
    return Problem(z, y, np.ones(n), None, True, covariance(0.5, np.ones(p)))


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.3, 10.0])
@pytest.mark.parametrize(("n", "p"), [(60, 12), (20, 30)])
def test_it_is_that_of_scikit_learn_on_standardised_rows(alpha, n, p):
    linear_model = pytest.importorskip("sklearn.linear_model")
    case = problem(n, p)
    deviations = case.z.std(axis=0)
    theirs = linear_model.Lasso(alpha=alpha, tol=1e-12, max_iter=1_000_000).fit(case.z / deviations, case.y)
    found = PenalisedLasso(alpha).fit(case).gamma
    assert found == pytest.approx(theirs.coef_ / deviations, abs=1e-6)
    assert found.tolist() == PenalisedLasso(alpha).solve(case).tolist()


def test_its_errors_are_a_jackknife():
    """With little shrinkage they are close to those of least squares, and they shrink as rows are added."""
    few, many = (np.sqrt(PenalisedLasso(0.001).fit(problem(n)).variances).mean() for n in (200, 1800))
    expected = np.sqrt(LeastSquares().fit(problem(1800)).variances).mean()
    assert many == pytest.approx(expected, rel=0.3)
    assert few == pytest.approx(3 * many, rel=0.4)


def test_a_word_that_is_never_masked_scores_zero():
    case = problem()
    case.z[:, 3] = 0.5
    assert PenalisedLasso().fit(case).gamma[3] == 0


def test_effects_below_the_penalty_are_said_to_be():
    case = problem()
    assert PenalisedLasso().fit(case).fallback is None
    small = replace(case, y=1e-6 * case.y)
    found = PenalisedLasso().fit(small)
    assert not found.gamma.any()
    enough = re.search(r"penalised-lasso\(alpha=([^)]*)\)", found.fallback)
    assert PenalisedLasso(float(enough[1])).fit(small).gamma == pytest.approx(
        1e-6 * LeastSquares().fit(case).gamma, abs=1e-7
    )
    assert PenalisedLasso().fit(replace(case, y=np.zeros(case.n))).fallback is None


def test_what_alpha_cannot_be():
    with pytest.raises(OptionError, match="alpha is -1"):
        PenalisedLasso(-1)


def test_sparse_keeps_the_ranking_of_theorem_1():
    dense = run(smooth(P), "mase-paper", sigma=0.3).estimate.gamma
    sparse = run(smooth(P), "mase-sparse", sigma=0.3).estimate.gamma
    kept = np.flatnonzero(sparse)
    assert 0 < len(kept) < P
    assert np.argsort(np.abs(sparse[kept])).tolist() == np.argsort(np.abs(dense[kept])).tolist()


def test_sparse_tolerances():
    z = RNG.standard_normal((500, P)) * 0.1
    problem = Problem(z, 0.2 + z @ GAMMA, np.ones(500), 0.2, True, covariance(0.1, np.ones(P)))
    b = np.mean((problem.y - 0.2)[:, None] * z, axis=0)
    absolute = Sparse(tol=0.004, relative=False).fit(problem).gamma
    assert absolute == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - 0.004, 0) / 0.01)
    universal = np.std((problem.y - 0.2)[:, None] * z, axis=0).max() * np.sqrt(2 * np.log(P) / 500)
    automatic = Sparse(tol="auto").fit(problem).gamma
    assert automatic == pytest.approx(np.sign(b) * np.maximum(np.abs(b) - universal, 0) / 0.01)
    assert not Sparse(tol=1.0).fit(problem).gamma.any()


def test_empirical_gram_beats_the_law_on_a_sparse_model():
    truth = np.where(np.arange(80) % 16 == 0, 1.0, 0.0)
    z = np.random.default_rng(3).standard_normal((1000, 80)) * 0.1
    problem = Problem(z, z @ truth, np.ones(1000), 0.0, True, covariance(0.1, np.ones(80)))
    errors = {
        gram: np.abs(Sparse(tol=0.02, gram=gram).fit(problem).gamma - truth).max() for gram in ("law", "empirical")
    }
    assert errors["empirical"] < errors["law"] / 2
