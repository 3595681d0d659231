"""Tests of `mase.metrics.log_odds`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.unit.metrics.additive import case

from mase.metrics import METRICS
from mase.metrics.masking import masker
from mase.metrics.rationales import eraser
from mase.models import Callable


def test_log_odds_have_one_floor():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    bound = masker(model, "a good film")
    one = METRICS["log-odds"]().evaluate(case(model, "a good film", [0.0, 1.0, 0.0]))
    assert eraser(bound, 1, [np.array([1, 0, 2])])[0, 2] == one[0] == pytest.approx(np.log(1e-12))


def test_log_odds_of_an_impossible_class_is_finite():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts])
    assert METRICS["log-odds"]().evaluate(case(model, "a good film", [0.0, 1.0, 0.0])) == pytest.approx(np.log(1e-12))
    appears = replace(case(model, "a good film", [0.0, 1.0, 0.0]), target=0)
    assert METRICS["log-odds"]().evaluate(appears) == pytest.approx(-np.log(1e-12))
