"""Tests of `mase.estimators.moment`."""

import numpy as np
import pytest

from mase.errors import OptionError
from mase.estimators.moment import Moment
from mase.measure import measure
from mase.methods import resolve
from mase.regression.covariance import covariance
from mase.regression.problem import Problem
from mase.testing import linear

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
