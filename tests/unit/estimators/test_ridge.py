"""Tests of `mase.estimators.ridge`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.estimators.ridge import Ridge
from mase.regression.covariance import covariance
from mase.regression.problem import Problem
from mase.testing import linear

P = 20


RNG = np.random.default_rng(11)


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
