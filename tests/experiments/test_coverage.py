"""Tests of the script `experiments/coverage.py`."""

import numpy as np
import pytest
from scipy import stats
from tests.experiments.scripts import FOLDER, needs_repository, script


@needs_repository
def test_the_interval_of_few_texts_is_that_of_student(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    shares = np.linspace(0.87, 0.97, 10)
    low, high = stats.t.interval(0.95, 9, shares.mean(), stats.sem(shares))
    assert script("coverage").half_width(shares) == pytest.approx((high - low) / 2)
