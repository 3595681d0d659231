"""Tests of `mase.metrics.permutation`."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.stats

from mase.errors import ShapeError
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


def every_sum(column):
    """Return the size of the sum of each pattern of signs."""
    sums = np.zeros(1)
    for value in column:
        sums = np.concatenate([sums + value, sums - value])
    return np.abs(sums)


@pytest.mark.parametrize("n", [14, 20])
def test_multiples_of_a_number_are_counted_and_texts_without_a_difference_have_no_part(n):
    differences = np.random.default_rng(n).integers(-5, 9, size=n) / 15
    expected = (every_sum(differences) >= abs(differences.sum()) - 1e-9).mean()
    padded = np.concatenate([differences, np.zeros(500)])[:, None]
    assert permutation_p_values(padded) == pytest.approx(expected, rel=1e-9)
    same_way = np.concatenate([np.full(9, -1 / 15), np.zeros(51)])[:, None]
    assert permutation_p_values(same_way).tolist() == [2 / 2**9]


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0, 2.0])
def test_other_differences_are_near_the_share_of_all_patterns_and_do_not_depend_on_chance(shift):
    differences = np.random.default_rng(4).normal(shift, 1, size=18)
    expected = (every_sum(differences) >= abs(differences.sum()) - 1e-9).mean()
    (found,) = permutation_p_values(differences[:, None])
    assert found == pytest.approx(expected, rel=0.1)
    assert found == permutation_p_values(differences[:, None], seed=1)


def test_patterns_count_where_the_approximation_is_wrong():
    """One difference outweighs all others, so that half of the sums are far from 0 on either side."""
    differences = np.concatenate([[1.0], np.random.default_rng(5).normal(0, 1e-4, size=20)])
    expected = (every_sum(differences) >= abs(differences.sum()) - 1e-12).mean()
    assert permutation_p_values(differences[:, None]) == pytest.approx(expected, abs=0.03)


def test_many_texts_are_near_the_t_test_however_small_the_p_value():
    table = np.random.default_rng(2).normal([0.0, 0.1, 0.2, 0.5], 1, size=(150, 4))
    assert permutation_p_values(table) == pytest.approx(scipy.stats.ttest_1samp(table, 0).pvalue, abs=0.01)
    far = permutation_p_values(table + 5)
    assert (far > 0).all()
    assert (far < 1e-40).all()


@pytest.mark.parametrize(("n", "losses"), [(60, 0), (60, 1), (60, 5), (100, 2), (300, 20), (1000, 350)])
def test_of_differences_of_one_size_it_is_the_binomial_test_however_small_the_p_value(n, losses):
    differences = np.concatenate([np.full(n - losses, 0.1), np.full(losses, -0.1)])
    expected = scipy.stats.binomtest(losses, n).pvalue
    assert permutation_p_values(differences[:, None]) == pytest.approx(expected, rel=1e-9, abs=0)


def test_no_p_value_is_above_1():
    balanced = [np.resize([1.0, -1.0], n)[:, None] for n in range(17, 101, 2)]  # every pattern has so large a sum
    found = np.concatenate([permutation_p_values(differences) for differences in balanced])
    assert found == pytest.approx(1.0)
    assert found.max() <= 1.0


@pytest.mark.parametrize("shift", [0, 1, 3, 5, 8])
def test_patterns_of_multiples_are_counted_by_whole_numbers(shift):
    differences = np.random.default_rng(shift).integers(-5, 6, 120) + shift
    patterns = Counter({0: 1})  # of each sum
    for size in np.abs(differences).tolist():
        patterns = Counter({total: patterns[total - size] + patterns[total + size] for total in every(patterns, size)})
    as_large = sum(count for total, count in patterns.items() if abs(total) >= abs(differences.sum()))
    expected = float(Fraction(as_large, patterns.total()))
    assert permutation_p_values(0.1 * differences[:, None]) == pytest.approx(expected, rel=1e-9, abs=0)


def every(patterns, size):
    """Return the sums that there are with one more difference."""
    return {total + sign * size for total in patterns for sign in (1, -1)}


def test_where_few_patterns_are_as_far_from_0_the_approximation_is_within_a_factor_of_two_or_so():
    rng, ratios = np.random.default_rng(8), []
    for shift in np.repeat([1.0, 1.5, 2.0], 8):
        differences = rng.normal(shift, 1, size=17)
        expected = (every_sum(differences) >= abs(differences.sum()) - 1e-9).mean()
        ratios.extend(permutation_p_values(differences[:, None]) / expected)
    assert 0.4 < min(ratios) < 0.9
    assert max(ratios) < 1.5


def test_differences_that_cancel_say_nothing():
    some = np.random.default_rng(6).normal(size=20)  # too many, and too uneven, to be counted
    assert permutation_p_values(np.concatenate([some, -some])[:, None]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("wrong", [[1.0, 2.0, 3.0], [[np.inf], [1.0]]])
def test_other_shapes_and_infinite_values_are_refused(wrong):
    with pytest.raises(ShapeError, match="expected finite numbers for n texts and m columns"):
        permutation_p_values(wrong)


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
