"""Tests of `mase_paper.experiments.paper`."""

import mase
from mase_paper.experiments.paper import KS, METHODS, PAPER, printed


def test_the_papers_numbers():
    assert {target: table.label for target, table in PAPER.items()} == {
        "lstm-imdb": "tab:performance1", "lstm-reuters": "tab:performance1",
        "bert-imdb": "tab:performance2", "bert-reuters": "tab:performance2",
    }  # fmt: skip
    for table in PAPER.values():
        assert set(table.rows) == set(METHODS.values())
        assert all(len(row) == len(KS) and all(0 < cell.mean < 1 for cell in row) for row in table.rows.values())
    # What the text quotes, and where it disagrees with its own table.
    assert printed("lstm-reuters", "mase-paper", 1).mean == 0.095
    assert printed("lstm-reuters", "mase-sparse", 1).mean == 0.104
    assert printed("bert-imdb", "mase-sparse", 5).mean == 0.230
    assert printed("lstm-imdb", "mase", 1) is printed("lstm-imdb", "random", 2) is printed("other", "random", 1) is None
    assert set(METHODS) <= set(mase.METHODS)


def test_a_name_may_be_looked_for_in_the_table_of_methods():
    assert "mase" in mase.METHODS
    assert "maze" not in mase.METHODS
