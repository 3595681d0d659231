"""Tests of the control of the false discovery rate."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import false_discovery_control

from mase.comparison.discoveries import critical_value, critical_z, significant


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_procedure_of_scipy(seed):
    rng = np.random.default_rng(seed)
    p_values = np.where(rng.random(200) < 0.2, rng.random(200) * 1e-3, rng.random(200))
    expected = false_discovery_control(p_values) <= 0.05
    assert expected.any()
    assert significant(p_values, 0.05).tolist() == expected.tolist()
    sizes = -ndtri(p_values / 2)
    candidates = np.sort(sizes[sizes >= critical_value(0.05)])
    batches = np.array_split(candidates, 7)
    assert (sizes >= critical_z(batches, len(candidates), len(sizes), 0.05)).tolist() == expected.tolist()


def test_nothing_is_significant_among_nothing():
    assert significant(np.array([]), 0.05).tolist() == []
    assert critical_z([], 0, 10, 0.05) == np.inf
    assert not significant(np.ones(3), 0.05).any()
