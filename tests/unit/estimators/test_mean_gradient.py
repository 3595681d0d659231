"""Tests of `mase.estimators.mean_gradient`."""

import numpy as np
import pytest

from mase.estimators.mean_gradient import MeanGradient
from mase.regression.covariance import covariance
from mase.regression.problem import Problem


def fitted(slopes, weights):
    n, p = slopes.shape
    law = covariance(1.0, np.ones(p))
    return MeanGradient().fit(Problem(np.zeros((n, p)), np.zeros(n), weights, None, False, law, gradients=slopes))


def test_errors_are_those_of_a_mean():
    slopes = np.random.default_rng(0).standard_normal((9, 3))
    assert fitted(slopes, np.ones(9)).covariance == pytest.approx(np.cov(slopes.T) / 9)


def test_errors_of_a_weighted_mean_are_those_of_its_weighted_deviations():
    rng = np.random.default_rng(1)
    slopes, weights = rng.standard_normal((9, 3)), rng.uniform(0.1, 2, 9)
    found = fitted(slopes, weights)
    assert found.gamma == pytest.approx(weights @ slopes / weights.sum())
    pulls = 9 * weights[:, None] * (slopes - found.gamma) / weights.sum()
    assert found.covariance == pytest.approx(sum(np.outer(one, one) for one in pulls) / (9 * 8))
