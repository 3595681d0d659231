"""Tests of `mase.metrics.agreement`."""

import numpy as np
import pytest
import scipy.stats

from mase.errors import OptionError, ShapeError
from mase.metrics.agreement import jaccard, spearman, top_overlap
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
