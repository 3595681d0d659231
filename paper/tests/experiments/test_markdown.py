"""Tests of `mase_paper.experiments.markdown`."""

from mase_paper.experiments.markdown import marked


def test_the_highest_figure_is_bold_whoever_has_it():
    assert marked(["0.947", "0.948"]) == ["0.947", "**0.948**"]
    assert marked(["0.480", "0.480", "0.1"]) == ["**0.480**", "**0.480**", "0.1"]
    assert marked([]) == []
