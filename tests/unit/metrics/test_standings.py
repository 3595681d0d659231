"""Tests of `mase.metrics.standings`."""

from itertools import combinations

import numpy as np
import pytest

from mase.metrics.intervals import paired_means, paired_share, summaries_of_means, summary_of_share
from mase.metrics.permutation import permutation_p_values
from mase.metrics.standings import Standing, can_differ, standings


def found(values, better="higher"):
    """Return the standings of methods with these values of each text (NaN for a missing one)."""
    table = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    summaries = dict(zip(table, summaries_of_means(np.stack(list(table.values()), axis=1)), strict=True))
    pairs = list(combinations(table, 2))
    gaps = paired_means(np.stack([table[one] - table[two] for one, two in pairs], axis=1)) if pairs else ()
    return standings(summaries, dict(zip(pairs, gaps, strict=True)), better)


def marks(values, better="higher"):
    return {name: standing.mark for name, standing in found(values, better).items()}


NOISE = np.tile([0.3, -0.3, 0.1, -0.1], 10)
VALUES = {"bad": NOISE - 0.5, "good": NOISE + 0.2 + 0.1 * NOISE[::-1], "near": NOISE + 0.2 - 0.001}


def test_the_best_and_what_is_not_shown_to_be_worse():
    assert marks(VALUES) == {"bad": "", "good": "best", "near": "tied"}
    assert marks(VALUES, "lower") == {"bad": "best", "good": "", "near": ""}
    assert marks(dict(reversed(VALUES.items()))) == {"near": "tied", "good": "best", "bad": ""}


def test_p_values_are_adjusted_for_all_pairs_by_holm():
    """Three pairs, of which the two with `bad` are the most certain: the p-values are multiplied by 3 and by 2."""
    result, gaps = found(VALUES), np.stack([VALUES["bad"] - VALUES[name] for name in ("good", "near")], axis=1)
    with_best, other = permutation_p_values(gaps).tolist()
    assert result["bad"].p_value == pytest.approx(with_best * 3 if with_best < other else max(with_best * 2, other * 3))
    assert result["good"].p_value is None
    assert result["near"].p_value > 0.05


def test_equal_means_are_all_the_best_unless_none_is_worse():
    assert marks({"a": NOISE, "b": NOISE, "c": NOISE - 1}) == {"a": "best", "b": "best", "c": ""}
    assert marks({"a": NOISE, "b": NOISE[::-1]}) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    ("n_texts", "n_methods", "is_marked"), [(5, 2, False), (6, 2, True), (7, 4, False), (8, 4, True)]
)
def test_so_few_texts_that_no_test_could_show_anything_have_no_marks(n_texts, n_methods, is_marked):
    """Even if one method is worse on every text."""
    values = {str(method): np.full(n_texts, -float(method)) + 0.01 * NOISE[:n_texts] for method in range(n_methods)}
    assert any(marks(values).values()) == is_marked
    assert can_differ(n_texts, n_methods) == is_marked


def test_a_single_method_and_missing_values_are_not_marked():
    missing = np.full(40, np.nan)
    assert marks({"a": NOISE}) == {"a": ""}
    assert found({"a": NOISE, "none": missing})["a"].mark == ""
    result = found(VALUES | {"none": missing})
    assert result["none"] == Standing(None)
    assert result["good"].mark == "best"


def test_a_method_that_failed_on_hard_texts_is_not_the_best():
    """It has a higher mean on the easy texts that it could explain, and is compared on these."""
    easy = np.arange(40) < 20
    whole = np.where(easy, 0.9, 0.1) + 0.01 * NOISE
    behind, ahead = (np.where(easy, whole + shift, np.nan) for shift in (-0.2, 0.05))
    assert np.nanmean(behind) > whole.mean()
    assert marks({"whole": whole, "behind": behind}) == {"whole": "best", "behind": ""}
    assert marks({"whole": whole, "ahead": ahead}) == {"whole": "best", "ahead": "tied"}
    apart = np.where(easy, np.nan, 0.0), np.where(easy, 0.0, np.nan)
    assert marks({"a": apart[0], "b": apart[1]}) == {"a": "", "b": ""}  # no text in common: no test


def test_equal_methods_are_seldom_called_worse():
    """Ten equal methods: in at most 5 % of the tables is any called worse than the best.

    All pairs count: the best was found by looking at all.
    """
    rng, n_wrong = np.random.default_rng(0), 0
    for _ in range(100):
        hits = rng.random((10, 300)) < 0.5
        summaries = {f"{i}": summary_of_share(row) for i, row in enumerate(hits)}
        gaps = {(f"{i}", f"{j}"): paired_share(hits[i], hits[j]) for i, j in combinations(range(10), 2)}
        n_wrong += any(one.mark == "" for one in standings(summaries, gaps, "higher").values())
    assert n_wrong <= 8


@pytest.mark.parametrize("n_methods", [3, 40])
def test_however_many_methods_there_are_a_clear_difference_is_shown(n_methods):
    noise = np.random.default_rng(0).normal(size=(100, n_methods)) / 10
    values = {f"m{index}": column + 5 * (index == 0) for index, column in enumerate(noise.T)}
    assert [name for name, mark in marks(values).items() if mark] == ["m0"]
