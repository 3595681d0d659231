"""Tests of `mase.metrics.permutation`."""

from itertools import product

import numpy as np
import pytest
import scipy.stats

from mase.metrics.intervals import mcnemar
from mase.metrics.permutation import permutation_p_values


def test_all_patterns_of_signs_by_brute_force():
    rng = np.random.default_rng(0)
    table = rng.normal(0.3, 1, size=(8, 5)).round(1)  # rounded: some sums are equal
    table[2, 1] = table[5, 3] = np.nan
    for column, p in zip(table.T, permutation_p_values(table), strict=True):
        known = column[~np.isnan(column)]
        sums = [abs(np.dot(signs, known)) for signs in product((1, -1), repeat=len(known))]
        assert p == pytest.approx(np.mean(np.array(sums) > abs(known.sum()) - 1e-9))


def test_few_texts_are_the_exact_test_of_scipy():
    table = np.random.default_rng(1).normal(0.4, 1, size=(11, 4))
    found = scipy.stats.permutation_test((table,), np.sum, permutation_type="samples", n_resamples=3000, axis=0)
    assert permutation_p_values(table) == pytest.approx(found.pvalue, abs=1e-12)


def test_many_texts_are_near_the_t_test_and_have_a_seed():
    table = np.random.default_rng(2).normal([0.0, 0.1, 0.2], 1, size=(150, 3))
    found = permutation_p_values(table)
    assert found == pytest.approx(scipy.stats.ttest_1samp(table, 0).pvalue, abs=0.015)
    assert (found == permutation_p_values(table)).all()
    assert (found != permutation_p_values(table, seed=1)).any()
    assert permutation_p_values(table + 5).tolist() == [1e-4] * 3  # never 0: the observed pattern counts as one more


def test_of_shares_it_is_mcnemars_exact_test():
    rng = np.random.default_rng(3)
    for _ in range(10):
        first, second = rng.random((2, 12)) < [[0.7], [0.3]]
        (p,) = permutation_p_values((first.astype(float) - second)[:, None])
        assert p == pytest.approx(mcnemar(first, second), abs=1e-12)


def test_without_a_difference_the_p_value_is_one():
    assert permutation_p_values(np.array([[0.0, np.nan, 0.1], [0.0, np.nan, -0.1]])).tolist() == [1, 1, 1]
    assert permutation_p_values(np.full((200, 1), 1e-9) * np.tile([[1], [-1]], (100, 1))).tolist() == [1]
    assert permutation_p_values(np.empty((3, 0))).shape == (0,)
