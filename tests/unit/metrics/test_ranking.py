"""Tests of `mase.metrics.ranking`."""

import numpy as np
import pytest

from mase.attribution import ranking
from mase.errors import OptionError, ShapeError
from mase.metrics.ranking import share_counts, without_top


def test_without_top_caps_k():
    order = ranking([0.0, 3.0, 1.0, 2.0])
    expected = [[i not in order[:k] for i in range(4)] for k in (0, 1, 3, 4, 99)]
    assert without_top(order, (0, 1, 3, 4, 99)).tolist() == expected
    assert without_top(order, ()).shape == (0, 4)
    for wrong in (-1, 1.5, True):
        with pytest.raises(OptionError, match="the number of words"):
            without_top(order, [wrong])
    for broken in ([0, 0, 1], [0, 2], [[0, 1]]):
        with pytest.raises(ShapeError, match="not a permutation"):
            without_top(np.array(broken), [1])


def test_shares_are_rounded_up():
    for n in range(1, 200):
        for percent in (1, 5, 7, 10, 20, 50, 100):  # 7 % of 100 words are 7.000000000000001
            assert share_counts(n, (percent / 100,)) == (-(-n * percent // 100),)
    for wrong in ((0.0,), (1.1,), (np.nan,), ("a",), (True,), (), 0.5):
        with pytest.raises(OptionError, match=r"above 0|sequence of numbers"):
            share_counts(10, wrong)
