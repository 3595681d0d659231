"""Tests of means, intervals and q-values against scipy, and of the interval against a bootstrap."""

import numpy as np
import pytest
from scipy import special, stats

from mase.statistics import Mean, critical_value, critical_z, holm, passing, q_values


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
