"""Tests of `mase.testing.classifiers`."""

import numpy as np
import pytest

import mase
from mase.models import Callable
from mase.testing import AdditiveClassifier, LogisticClassifier

TEXT = "a superb cast but a dull, dull plot"


def scores(function, link):
    found = mase.Explainer(Callable(function, labels=["neg", "pos"]), method="occlusion", link=link)(TEXT, target="pos")
    return {word.text: word.score for word in found.word_scores}


def test_the_score_of_a_word_is_its_worth():
    found = scores(AdditiveClassifier({"superb": 0.2, "plot": -0.05}), "probability")
    assert found["superb"] == pytest.approx(0.2)
    assert found["plot"] == pytest.approx(-0.05)
    assert found["cast"] == 0


def test_log_odds_are_linear_in_the_counts():
    function = LogisticClassifier({"superb": 1.5, "dull": -1.0})
    assert scores(function, "logit")["dull"] == pytest.approx(-1.0)
    assert np.diff(np.log(function([TEXT]))).item() == pytest.approx(1.5 - 2.0)
