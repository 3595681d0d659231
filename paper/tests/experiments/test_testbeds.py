"""Tests of `mase_paper.experiments.testbeds`."""

import pytest
from paper.tests.repository import ROOT, needs_repository

from mase_paper.experiments.testbeds import TARGETS


@needs_repository
@pytest.mark.parametrize(
    "name",
    ["experiments/results/table2.md", "experiments/results/figure4.md"],
)
def test_pages_say_what_stands_in_for_bert(name):
    page = (ROOT / name).read_text(encoding="utf-8")
    for target in ("bert-imdb", "bert-reuters"):
        assert TARGETS[target].heading != TARGETS[target].title
        assert TARGETS[target].heading in page
    assert TARGETS["lstm-imdb"].heading == TARGETS["lstm-imdb"].title
