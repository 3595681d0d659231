"""Tests of `mase.metrics.agreement`."""

import numpy as np
import pytest
import scipy.stats
from tests.unit.metrics.additive import TEXT, case, worths

from mase.errors import OptionError, ShapeError
from mase.metrics.agreement import SeedAgreement, jaccard, spearman, top_overlap
from mase.metrics.ranking import ranking


def test_agreement_against_scipy_and_sets():
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, two = rng.integers(0, 6, size=(2, 12)).astype(float)
        assert spearman(one, two) == pytest.approx(scipy.stats.spearmanr(one, two).statistic)
        a, b = set(ranking(one)[:4].tolist()), set(ranking(two)[:4].tolist())
        assert jaccard(one, two, 4) == len(a & b) / len(a | b)
        assert top_overlap(one, two, 4) == len(a & b) / 4
    assert jaccard(one, two, 99) == top_overlap(one, two, 99) == 1
    assert np.isnan(spearman([1.0, 1.0], [1.0, 2.0]))
    with pytest.raises(ShapeError, match="same words"):
        spearman([1.0], [1.0, 2.0])
    with pytest.raises(OptionError):
        jaccard([1.0], [1.0], 0)


def test_rounding_is_no_order():
    """Scores within 1e-9 of the largest are ties, as where words are ranked."""
    rng = np.random.default_rng(1)
    for size in (1e-6, 1.0, 1e6):
        one, two = rng.integers(0, 4, size=(2, 12)) * size
        noisy = one + rng.uniform(-1e-12, 1e-12, 12) * size
        assert spearman(noisy, two) == pytest.approx(scipy.stats.spearmanr(one, two).statistic)
        assert spearman(noisy, one) == pytest.approx(1)
    assert np.isnan(spearman([1.0, 1.0 + 1e-12, 1.0], [3.0, 2.0, 1.0]))


def test_seeds_agree_on_the_top_words_only_where_others_are_left(additive_model):
    """The ten best of ten words are the same in any order, so that they tell nothing."""
    words = TEXT.split()
    for n, k in ((12, 10), (10, 10), (3, 10), (3, 2)):
        text = " ".join(words[:n])
        drawn = [np.random.default_rng(seed).permutation(n) for seed in range(3)]
        one = case(additive_model, text, worths(text), rescore=lambda _, seed, drawn=drawn: drawn[seed].astype(float))
        correlation, overlap = SeedAgreement(k=k).evaluate(one)
        assert correlation == pytest.approx(np.mean([spearman(worths(text), other) for other in drawn[1:]]))
        expected = np.mean([jaccard(worths(text), other, k) for other in drawn[1:]]) if n > k else np.nan
        assert overlap == pytest.approx(expected, nan_ok=True)
