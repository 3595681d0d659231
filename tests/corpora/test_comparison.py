"""Tests of limits on how much two runs may differ."""

from dataclasses import replace

import pytest

from mase.errors import DataError, OptionError
from mase_corpora.comparison import Comparison, Noise, Predictions, Reasons, Texts, Thresholds

COMPARISON = Comparison(
    "a", "b", Texts(100, 0, 0, 0, 0, 0), Predictions(100, 2, 0.0, 0.0, ()),
    Reasons(98, 500, 0, (("margin", "margin"),), 0.9, 0.9, 0.9, Noise(0.05, 500, 20, 10), None), None, {},
)  # fmt: skip


@pytest.mark.parametrize(
    ("limits", "n"),
    [
        ({}, 0),
        ({"max_flipped": 0.02, "max_reasons_changed": 10 / 98, "min_top_overlap": 0.9}, 0),
        ({"max_flipped": 0.019}, 1),
        ({"max_reasons_changed": 0.1}, 1),
        ({"min_top_overlap": 0.91}, 1),
        ({"max_flipped": 0, "max_reasons_changed": 0, "min_top_overlap": 1}, 3),
    ],
)
def test_limits(limits, n):
    assert len(Thresholds(**limits).exceeded(COMPARISON)) == n


def test_what_cannot_be_told_is_not_passed():
    unknown = replace(COMPARISON, reasons=replace(COMPARISON.reasons, noise=None, no_noise="no errors"))
    assert Thresholds(max_flipped=0.5).exceeded(unknown) == ()
    with pytest.raises(DataError):
        Thresholds(max_reasons_changed=1.0).exceeded(unknown)
    empty = replace(COMPARISON, texts=replace(COMPARISON.texts, compared=0))
    with pytest.raises(DataError):
        Thresholds(max_flipped=1.0).exceeded(empty)


def test_models_of_values_have_reasons_and_no_classes():
    values = replace(COMPARISON, predictions=Predictions(0, 0, None, None, ()))
    assert Thresholds(max_reasons_changed=0.5, min_top_overlap=0.5).exceeded(values) == ()
    assert len(Thresholds(min_top_overlap=0.95).exceeded(values)) == 1
    with pytest.raises(DataError):
        Thresholds(max_flipped=1.0).exceeded(values)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), "a", True, [0.5]])
def test_limits_are_shares(value):
    with pytest.raises(OptionError):
        Thresholds(max_flipped=value)
