"""Tests of `mase.statistics`."""

from collections import Counter
from dataclasses import astuple
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import scipy.stats
from scipy import special, stats

from mase.errors import MaseError, NonFiniteError, OptionError, ShapeError
from mase.statistics import (
    Mean,
    critical_value,
    critical_z,
    holm,
    mcnemar,
    paired_mean,
    paired_means,
    paired_share,
    passing,
    permutation_p_values,
    q_values,
    summaries_of_means,
    summary_of_mean,
    summary_of_share,
    wilson,
)


@pytest.mark.parametrize(
    ("count", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (29, 29, 0.8830, 1),
    ],
)
def test_wilson_against_newcombes_table(count, n, low, high):
    """Newcombe, Statistics in Medicine 17 (1998), p. 861, table I, method 3 (and its mirror image at the other end)."""
    assert wilson(count, n) == pytest.approx((low, high), abs=6e-5)
    found = scipy.stats.binomtest(count, n).proportion_ci(method="wilson")
    assert wilson(count, n) == pytest.approx((found.low, found.high), abs=1e-12)


def test_the_bounds_of_no_hits_and_of_all_hits_are_exact():
    """By rounding a bound would be beyond 0 or 1, or beyond the share itself, for half of these numbers of texts."""
    assert {(wilson(0, n)[0], wilson(n, n)[1]) for n in range(1, 100)} == {(0.0, 1.0)}


def test_paired_share_covers_the_true_difference():
    """Of correlated shares .3 and .2 on 80 texts, 95 % intervals hold the difference in about 95 % of the samples."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1000):
        shared, own = rng.random((2, 80))
        first = shared < 0.3
        second = np.where(own < 0.7, shared < 0.2, rng.random(80) < 0.2)
        found = paired_share(first, second)
        covered += found.low <= 0.1 <= found.high
        assert found.low <= found.mean <= found.high
    assert 0.93 < covered / 1000 < 0.975


def test_paired_share_of_newcombes_example():
    """36 texts both, 12 only the first, 2 only the second: table II of Statistics in Medicine 17 (1998), p. 2635."""
    first = np.array([True] * 48 + [False] * 2)
    second = np.array([True] * 36 + [False] * 12 + [True] * 2)
    found = paired_share(first, second)
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.0569, 0.3404), abs=6e-5)
    reverse = paired_share(second, first)
    assert (reverse.mean, reverse.low, reverse.high) == pytest.approx((-found.mean, -found.high, -found.low))
    assert found.p_value == reverse.p_value == mcnemar(first, second)


@pytest.mark.parametrize(
    ("table", "interval"),
    [
        ((14, 5, 0, 22), (0.0115, 0.2265)),
        ((20, 12, 2, 16), (0.0562, 0.3292)),
        ((1, 1, 7, 12), (-0.5069, -0.0256)),
        ((36, 12, 2, 0), (0.0569, 0.3404)),
        ((30, 0, 0, 0), (-0.1135, 0.1135)),
    ],
)
def test_newcombes_correction_takes_half_of_n_from_a_positive_product_only(table, interval):
    """Both, only the first, only the second, neither.

    The first is the worked example of Newcombe and Altman, Statistics with Confidence (2000), chapter 6: 0.122,
    0.011 to 0.226. The second is from table II of Newcombe, Statistics in Medicine 17 (1998), p. 2635. The third is
    Bentur's, as in Fagerland, Lydersen and Laake, Statistics in Medicine 33 (2014): a product of 5, less than n / 2,
    counts as 0.
    """
    both, one, two, neither = table
    first = np.array([True] * (both + one) + [False] * (two + neither))
    second = np.array([True] * both + [False] * one + [True] * two + [False] * neither)
    found = paired_share(first, second)
    assert (found.low, found.high) == pytest.approx(interval, abs=6e-5)


def test_two_shares_of_which_one_is_all_have_no_correlation():
    """The interval is that of two samples: the roots of the summed squares of the distances to Wilson's bounds."""
    hits, half = np.ones(30, dtype=bool), np.arange(30) < 15
    (least, _), (low, high) = wilson(30, 30), wilson(15, 30)
    found = paired_share(hits, half)
    assert (found.low, found.high) == pytest.approx((0.5 - np.hypot(1 - least, high - 0.5), 0.5 + (0.5 - low)))
    found = paired_share(~hits, half)
    assert (found.low, found.high) == pytest.approx((-0.5 - (high - 0.5), -0.5 + np.hypot(1 - least, 0.5 - low)))


def test_mcnemar_is_the_binomial_test():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = rng.random((2, 30)) < 0.4
        wins, losses = int((one & ~two).sum()), int((two & ~one).sum())
        assert mcnemar(one, two) == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)
    assert mcnemar(one, one) == 1


def test_paired_difference_without_any_difference():
    same = np.array([True, False, True])
    found = paired_share(same, same)
    assert (found.mean, found.p_value) == (0, 1)
    assert found.low < 0 < found.high
    assert paired_mean([0.3, 0.4], [0.3, 0.4]).low == 0


def test_bootstrap_is_near_the_normal_interval_and_has_a_seed():
    values = np.random.default_rng(0).normal(2, 3, 400)
    found = summary_of_mean(values)
    half = 1.96 * values.std(ddof=1) / 20
    assert found.mean == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.04)
    assert found == summary_of_mean(values)
    assert found.low != summary_of_mean(values, seed=1).low
    other = values + np.random.default_rng(1).normal(0.5, 0.1, 400)
    paired = paired_mean(other, values)
    assert paired.low > 0.45
    assert paired.high - paired.low < 0.1 * (found.high - found.low)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
def test_the_interval_of_few_texts_covers_the_mean(n):
    """Without a correction it covers 76, 84, 91 and 92 % of the time."""
    values = np.random.default_rng(n).normal(size=(n, 600))
    covered = [found.low <= 0 <= found.high for found in summaries_of_means(values)]
    assert 0.92 < np.mean(covered) < 0.99


def test_the_bootstrap_in_one_slow_line():
    """All columns are averaged over the same resamples of the texts that have a value."""
    values = np.random.default_rng(0).normal(size=(37, 4))
    values[3, 1] = values[[0, 5, 9], 3] = np.nan
    for column, found in zip(values.T, summaries_of_means(values, seed=5), strict=True):
        known, rng = column[~np.isnan(column)], np.random.default_rng(5)
        means = np.concatenate(
            [known[rng.integers(len(known), size=(100, len(known)))].mean(axis=1) for _ in range(20)]
        )
        n, bounds = len(known), np.quantile(means, [0.025, 0.975])
        wider = np.sqrt(n / (n - 1)) * scipy.stats.t.ppf(0.975, n - 1) / scipy.stats.norm.ppf(0.975)
        bounds = known.mean() + wider * (bounds - known.mean())
        assert (found.low, found.high) == pytest.approx(bounds, abs=1e-12)
        assert (found.mean, found.n) == (pytest.approx(known.mean()), len(known))
        assert astuple(summary_of_mean(column, seed=5)) == pytest.approx(astuple(found))
    (paired,) = paired_means(values[:, [0]] - values[:, [1]])
    assert astuple(paired_mean(values[:, 0], values[:, 1])) == pytest.approx(astuple(paired))
    assert summaries_of_means(np.array([[np.nan, 1.0], [np.nan, 2.0]]))[0] is None
    assert summaries_of_means(np.empty((3, 0))) == ()
    one, two = summaries_of_means(np.array([[np.nan, 1.0], [3.0, 2.0]]))  # resamples of a single value are all the same
    assert (one.mean, one.n, np.isnan([one.low, one.high]).all()) == (3, 1, True)
    assert two.low < 1 < 2 < two.high
    with pytest.raises(MaseError, match="not finite"):
        summaries_of_means(np.array([[np.inf], [1.0]]))


def test_summary_over_batches():
    hits = np.random.default_rng(0).random(60) < 0.4
    batches = [range(0, 20), range(20, 40), range(40, 60)]
    found = summary_of_share(hits, batches)
    assert found.sd == pytest.approx(np.std([hits[:20].mean(), hits[20:40].mean(), hits[40:].mean()], ddof=1))
    assert (found.mean, found.n, found.n_batches) == (hits.mean(), 60, 3)
    assert (found.low, found.high) == wilson(int(hits.sum()), 60)
    assert summary_of_share(hits).sd is None
    overlapping = summary_of_share(hits, [[0, 1, 2], [2, 3, 4]])
    assert overlapping.sd == pytest.approx(np.std([hits[:3].mean(), hits[2:5].mean()], ddof=1))
    part = summary_of_mean(np.array([1.0, np.nan, 3.0]), [[0, 1], [2]])
    assert (part.mean, part.n, part.sd) == (2, 2, pytest.approx(np.sqrt(2)))
    assert summary_of_mean(np.array([1.0, np.nan, 3.0]), [[0], [1], [2]]).n_batches == 2  # as many as the spread is of


def test_intervals_refuse_what_is_no_sample():
    with pytest.raises(OptionError, match="at least one text"):
        summary_of_share(np.array([], dtype=bool))
    with pytest.raises(ShapeError, match="booleans"):
        summary_of_share(np.array([0.5, 1.0]))
    with pytest.raises(OptionError, match="batch is empty"):
        summary_of_share(np.array([True]), [[]])
    with pytest.raises(ShapeError, match="per text"):
        paired_share(np.array([True]), np.array([True, False]))
    with pytest.raises(OptionError, match="no value"):
        summary_of_mean(np.array([np.nan]))


@pytest.mark.parametrize(("first", "second"), [([np.inf, 1.0], [np.inf, 1.0]), ([1.0, 2.0], [0.0, -np.inf])])
def test_infinite_values_are_refused_even_where_they_cancel(first, second):
    with pytest.raises(NonFiniteError, match="infinite"):
        paired_mean(first, second)


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


def mean_of(*samples):
    return Mean.of(*(np.array([f(x) for x in samples], dtype=float) for f in (len, np.sum, lambda x: np.sum(x**2))))


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return [rng.normal(0.3, 1, 25), rng.exponential(1, 60) - 1, rng.normal(-2, 0.1, 5), np.array([0.3, 0.5])]


def test_one_mean_is_students_test(samples):
    mean = mean_of(*samples)
    expected = [stats.ttest_1samp(x, 0) for x in samples]
    np.testing.assert_allclose(mean.p_values(), [test.pvalue for test in expected], rtol=1e-9)
    intervals = [test.confidence_interval(0.95) for test in expected]
    np.testing.assert_allclose(np.transpose(mean.interval()), [(i.low, i.high) for i in intervals], rtol=1e-9)


def test_a_difference_is_welchs_test(samples):
    difference = mean_of(samples[0]) - mean_of(samples[1])
    expected = stats.ttest_ind(samples[0], samples[1], equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert difference.p_values()[0] == pytest.approx(expected.pvalue)
    np.testing.assert_allclose(np.ravel(difference.interval()), [interval.low, interval.high])


def test_the_interval_agrees_with_a_bootstrap():
    rng = np.random.default_rng(1)
    effects = rng.gamma(2, 0.5, 200)  # skew, as effects are
    bootstrap = stats.bootstrap((effects,), np.mean, n_resamples=4000, method="percentile", rng=rng)
    low, high = (bound[0] for bound in mean_of(effects).interval())
    width = high - low
    assert low == pytest.approx(bootstrap.confidence_interval.low, abs=0.1 * width)
    assert high == pytest.approx(bootstrap.confidence_interval.high, abs=0.1 * width)


def test_means_of_equal_numbers_and_of_too_few():
    mean = mean_of(np.full(30, 0.1), np.zeros(30), np.ones(1))
    low, high = mean.interval()
    assert (mean.p_values()[0] < 1e-6, mean.p_values()[1], mean.p_values()[2]) == (True, 1.0, 1.0)
    assert low[0] == pytest.approx(0.1)
    assert np.isnan([low[2], high[2]]).all()
    assert (mean - mean).p_values().tolist() == [1.0, 1.0, 1.0]
    assert [bound[1] for bound in (mean - mean).interval()] == [0.0, 0.0]


def test_equal_means_that_differ_by_rounding_are_equal():
    """A linear model gives a word the same score in every text, up to the last digits of the sums."""
    n = np.arange(2.0, 60)
    total, squares = np.cumsum(np.full(60, 0.3))[1:59], np.cumsum(np.full(60, 0.3**2))[1:59]
    first = Mean.of(n, total, squares)
    for shift in range(1, len(n)):
        second = Mean.of(*(np.roll(values, shift) for values in (n, total, squares)))
        assert (first - second).p_values() == pytest.approx(1, abs=1e-3)
    assert (first.p_values()[1:] < 1e-9).all()


def test_sums_of_dependent_means_have_at_least_the_error_of_any_correlation(samples):
    a = samples[0]
    same = mean_of(a).plus(mean_of(a))
    np.testing.assert_allclose(same.interval(), mean_of(2 * a).interval())


def test_the_error_of_a_sum_is_known_as_badly_as_that_of_its_smaller_sample(samples):
    many, few = samples[1], samples[2]
    low, high = mean_of(many).plus(mean_of(few)).interval()
    half = stats.t.ppf(0.975, len(few) - 1) * (stats.sem(many) + stats.sem(few))
    assert (low[0], high[0]) == pytest.approx((many.mean() + few.mean() - half, many.mean() + few.mean() + half))


def test_all_means_must_pass_in_the_same_direction(samples):
    up, down = mean_of(samples[0] + 2), mean_of(samples[0] - 2)
    assert passing(up, mean_of(samples[0]))[0] == mean_of(samples[0]).p_values()[0]
    assert passing(up, down)[0] == passing(down, up)[0] == 1


@pytest.mark.parametrize(("sign", "alternative"), [(1, "greater"), (-1, "less")])
def test_in_a_given_direction_the_tests_have_one_side(samples, sign, alternative):
    expected = [stats.ttest_1samp(x, 0, alternative=alternative).pvalue for x in samples]
    np.testing.assert_allclose(mean_of(*samples).p_values(sign), expected, rtol=1e-9)
    both = passing(mean_of(*samples), mean_of(*reversed(samples)), sign=sign)
    np.testing.assert_allclose(both, np.maximum(expected, expected[::-1]), rtol=1e-9)
    assert mean_of(np.ones(1)).p_values(sign).tolist() == [1.0]


def test_a_list_of_one_direction_has_few_false_rows_whatever_the_other_one_has():
    """A hundred words have lower means, and a thousand have none: no list of higher means should have a row."""
    rng, lists = np.random.default_rng(0), 60
    shift = np.concatenate([np.full(100, -2.0), np.zeros(1000)])
    found = 0
    for _ in range(lists):
        values = rng.normal(shift, 1, (100, 1100))
        mean = Mean.of(np.full(1100, 100.0), values.sum(axis=0), (values**2).sum(axis=0))
        found += bool((q_values(passing(mean, sign=1)) <= 0.01).any())
    assert found <= 3


def test_q_values_are_those_of_scipy():
    p = np.random.default_rng(2).random(50) ** 3
    np.testing.assert_allclose(q_values(p), stats.false_discovery_control(p))
    assert len(q_values(np.array([]))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_critical_deviates_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    p_values = np.where(rng.random(200) < 0.2, rng.random(200) * 1e-3, rng.random(200))
    expected = stats.false_discovery_control(p_values) <= 0.05
    assert expected.any()
    sizes = -special.ndtri(p_values / 2)
    candidates = np.sort(sizes[sizes >= critical_value(0.05)])
    batches = np.array_split(candidates, 7)
    assert (sizes >= critical_z(batches, len(candidates), len(sizes), 0.05)).tolist() == expected.tolist()


def test_nothing_is_significant_among_nothing():
    assert critical_z([], 0, 10, 0.05) == np.inf


def test_holm_in_one_slow_line():
    """The p-value of a hypothesis is at least that of each one before it in the order of p-values."""
    rng = np.random.default_rng(0)
    for m in (1, 5, 40):
        p = rng.random(m).round(1) ** 3
        by_rank = sorted(p)
        expected = [min(1, max((m - rank) * q for rank, q in enumerate(by_rank) if q <= one)) for one in p]
        assert holm(p) == pytest.approx(expected)
    assert holm(np.array([])).shape == (0,)
