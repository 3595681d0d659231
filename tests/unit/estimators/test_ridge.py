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
