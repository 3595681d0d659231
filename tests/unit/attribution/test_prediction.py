"""Tests of `mase.attribution.prediction`."""

import numpy as np

from mase.attribution import Prediction


def test_the_first_of_the_most_probable_classes_is_predicted():
    assert Prediction.of(("a", "b", "c"), np.array([0.2, 0.4, 0.4])) == Prediction(
        "b", 1, 0.4, {"a": 0.2, "b": 0.4, "c": 0.4}
    )
