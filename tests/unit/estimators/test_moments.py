"""Tests of `mase.estimators.linear`."""

import numpy as np
import pytest

from mase.errors import OptionError
from mase.estimators.linear import MeanGradient, Moment
from mase.methods import resolve
from mase.pipeline import measure
from mase.solve.distributions import covariance
from mase.solve.problem import Problem
from mase.testing import linear


def fitted(slopes, weights):
    n, p = slopes.shape
    component = covariance(1.0, np.ones(p))
    return MeanGradient().fit(Problem(np.zeros((n, p)), np.zeros(n), weights, None, False, component, gradients=slopes))


def test_errors_are_those_of_a_mean():
    slopes = np.random.default_rng(0).standard_normal((9, 3))
    assert fitted(slopes, np.ones(9)).covariance == pytest.approx(np.cov(slopes.T) / 9)


def test_errors_of_a_weighted_mean_are_those_of_its_weighted_deviations():
    rng = np.random.default_rng(1)
    slopes, weights = rng.standard_normal((9, 3)), rng.uniform(0.1, 2, 9)
    found = fitted(slopes, weights)
    assert found.gamma == pytest.approx(weights @ slopes / weights.sum())
    row_weights = 9 * weights[:, None] * (slopes - found.gamma) / weights.sum()
    assert found.covariance == pytest.approx(sum(np.outer(one, one) for one in row_weights) / (9 * 8))


P = 20


RNG = np.random.default_rng(11)


GAMMA = RNG.standard_normal(P)


@pytest.mark.parametrize("method", ["mase", "lime", "lime-paper"])
@pytest.mark.parametrize("estimator", ["moment", "sparse"])
def test_a_moment_of_one_law_is_not_taken_of_rows_of_several(method, estimator):
    with pytest.raises(OptionError, match="expected a regression"):
        measure(linear(GAMMA), resolve(method, link="logit", estimator=estimator), 0, np.random.default_rng(0))


def test_the_covariance_is_that_of_a_mean_of_independent_terms():
    rng = np.random.default_rng(0)
    z, y = rng.standard_normal((9, 3)) * 0.5, rng.standard_normal(9)
    found = Moment().fit(Problem(z, y, np.ones(9), 0.25, False, covariance(0.5, np.ones(3))))
    terms = (y - 0.25)[:, None] * z / 0.5**2
    assert found.gamma == pytest.approx(terms.mean(axis=0))
    assert found.covariance == pytest.approx(np.cov(terms.T) / 9)
