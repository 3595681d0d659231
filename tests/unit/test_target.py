"""Tests of `mase.target`."""

from mase.target import target_index


def test_a_label_of_digits_comes_before_an_index():
    assert target_index(("2", "1", "0"), "0", 2) == 2
    assert target_index(("2", "1", "0"), 0, 2) == 0
    assert target_index(("a", "b", "c"), "0", 2) == 0


def test_the_default_is_the_predicted_class():
    assert target_index(("a", "b", "c"), None, 1) == 1
