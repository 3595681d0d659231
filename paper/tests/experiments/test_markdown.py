"""Tests of `mase_paper.experiments.markdown`."""

import re

import pytest
from paper.tests.repository import ROOT, needs_repository

from mase_paper.experiments.markdown import marked


def test_the_highest_figure_is_bold_whoever_has_it():
    assert marked(["0.947", "0.948"]) == ["0.947", "**0.948**"]
    assert marked(["0.480", "0.480", "0.1"]) == ["**0.480**", "**0.480**", "0.1"]
    assert marked([]) == []


@needs_repository
@pytest.mark.parametrize("name", ["docs/results.md", "experiments/faithfulness/faithfulness.md"])
def test_of_two_figures_the_higher_is_bold(name):
    rows = re.findall(
        r"(\*\*)?([01]\.\d{3})(?:\*\*)? / (\*\*)?([01]\.\d{3})(?:\*\*)? `", (ROOT / name).read_text(encoding="utf-8")
    )
    assert len(rows) == 24
    for left_bold, left, right_bold, right in rows:
        assert (bool(left_bold), bool(right_bold)) == (left >= right, right >= left)
