"""Tests of `mase.estimators.least_squares`."""

import numpy as np
import pytest
from tests.regressions import run

from mase.estimators.least_squares import LeastSquares
from mase.regression.covariance import covariance
from mase.regression.laws import Laws
from mase.regression.problem import Problem
from mase.testing import FunctionProbe

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
    laws = Laws(dummies.T, np.full((3, p), 0.5))
    found = LeastSquares().fit(Problem(z, y, weights, None, True, covariance(1.0, np.ones(p)), laws=laws))
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
