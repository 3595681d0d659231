"""Tests of `mase.regression.laws`."""

import numpy as np

from mase.regression.laws import Laws


def test_joined_rows_have_the_laws_of_both_and_some_rows_only_their_own():
    first, second = Laws.one(2, np.full(3, 0.5)), Laws.one(4, np.array([0.9, 0.9, 1.0]), independent=False)
    joined = first.joined(second)
    assert joined.shares.tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1]]
    assert not joined.independent
    assert joined.rows(slice(2)).rates.tolist() == [[0.5, 0.5, 0.5]]
    assert joined.rows(np.arange(6) > 1).shares.tolist() == second.shares.tolist()


def test_mixed_rows_are_due_to_both_laws_by_their_weights():
    first, second = Laws.one(2, np.full(3, 0.5)), Laws.one(2, np.full(3, 0.2))
    mixed = first.mixed(np.array([1.0, 3.0]), second, np.array([1.0, 1.0]))
    assert mixed.shares.tolist() == [[0.5, 0.75], [0.5, 0.25]]
    assert mixed.rates[:, 0].tolist() == [0.5, 0.2]
