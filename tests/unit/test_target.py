"""Tests of `mase.target`."""

import numpy as np

from mase.target import target_index

PROBABILITIES = np.array([0.2, 0.3, 0.5])


def test_a_label_of_digits_comes_before_an_index():
    assert target_index(("2", "1", "0"), "0", PROBABILITIES) == 2
    assert target_index(("2", "1", "0"), 0, PROBABILITIES) == 0
    assert target_index(("a", "b", "c"), "0", PROBABILITIES) == 0
