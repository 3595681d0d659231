"""Tests of `mase.estimators.moment`."""

import numpy as np
import pytest

from mase.errors import OptionError
from mase.measure import measure
from mase.methods import resolve
from mase.testing import linear

P = 20


RNG = np.random.default_rng(11)


GAMMA = RNG.standard_normal(P)


@pytest.mark.parametrize("method", ["mase", "lime", "lime-paper"])
@pytest.mark.parametrize("estimator", ["moment", "sparse"])
def test_a_moment_of_one_law_is_not_taken_of_rows_of_several(method, estimator):
    with pytest.raises(OptionError, match="expected a regression"):
        measure(linear(GAMMA), resolve(method, link="logit", estimator=estimator), 0, np.random.default_rng(0))
