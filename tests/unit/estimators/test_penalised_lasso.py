"""Tests of `mase.estimators.penalised_lasso`."""

import re
from dataclasses import replace

import numpy as np
import pytest

from mase.errors import OptionError
from mase.estimators.least_squares import LeastSquares
from mase.estimators.penalised_lasso import PenalisedLasso
from mase.regression.covariance import covariance
from mase.regression.problem import Problem


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
    enough = re.search(r"penalised-lasso\(alpha=(.*)\)", found.fallback)
    assert PenalisedLasso(float(enough[1])).fit(small).gamma == pytest.approx(
        1e-6 * LeastSquares().fit(case).gamma, abs=1e-7
    )
    assert PenalisedLasso().fit(replace(case, y=np.zeros(case.n))).fallback is None


def test_what_alpha_cannot_be():
    with pytest.raises(OptionError, match="alpha is -1"):
        PenalisedLasso(-1)
