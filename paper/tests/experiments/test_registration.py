"""Tests of `mase_paper.experiments.registration`."""

import pytest

from mase.methods import METHODS
from mase.statistics import Difference
from mase_paper.experiments.registration import registration
from mase_paper.experiments.testbeds import FRESH, PAPER


@pytest.mark.parametrize(
    ("low", "high", "p_value", "standing"),
    [
        (0.001, 0.1, 0.05, "won"),
        (0.001, 0.1, 0.051, "ahead"),
        (0.0, 0.1, 0.01, "level"),
        (-0.029, 0.0, 0.01, "level"),
        (-0.03, 0.1, 1.0, "open"),
        (float("nan"), float("nan"), 1.0, "open"),
        (-0.02, -0.001, 0.051, "behind"),
        (-0.02, -0.001, 0.05, "lost"),
    ],
)
def test_standings(low, high, p_value, standing):
    assert registration().standing(Difference((low + high) / 2, low, high, 100, p_value), p_value) == standing


def test_what_is_registered_exists():
    registered = registration()
    assert set(registered.n_texts) == {*PAPER, *FRESH}
    assert {one.method for one in registered.methods} <= set(METHODS)
    assert str(registered.methods[0]) == "mase"
