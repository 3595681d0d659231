"""Tests of the script `experiments/coverage.py`."""

import numpy as np
import pytest
from scipy import stats
from tests.experiments.scripts import FOLDER, needs_repository, script


@needs_repository
def test_the_interval_of_few_texts_is_that_of_student(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    shares = np.linspace(0.87, 0.97, 10)
    rest = dict.fromkeys(("shown", "rest", "width_top", "width_rest", "n_queries", "seeds"), 1)
    texts = [{"method": "mase", "top": share} | rest for share in shares]
    mean, half = next(line for line in script("coverage").table("bert-imdb", texts) if "`mase`" in line).split("±")
    low, high = stats.t.interval(0.95, 9, shares.mean(), stats.sem(shares))
    assert float(half.split("|")[0]) == pytest.approx((high - low) / 2, abs=5e-4)
    assert float(mean.split("|")[-1]) == pytest.approx(shares.mean(), abs=5e-4)
