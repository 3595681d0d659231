"""Tests of `mase.metrics.intervals`."""

from dataclasses import astuple

import numpy as np
import pytest
import scipy.stats

from mase.errors import MaseError, NonFiniteError, OptionError, ShapeError
from mase.metrics.intervals import (
    mcnemar,
    paired_mean,
    paired_means,
    paired_share,
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
