"""Tests of `mase_corpora.comparison`."""

import pytest
from tests.runs import classifier, write_run

import mase
from mase_corpora.comparison import lines

pytest.importorskip("duckdb")


@pytest.mark.parametrize(("n", "counted"), [(1, "1 text"), (2, "2 texts")])
def test_numbers_have_their_nouns(n, counted, tmp_path):
    folders = [
        write_run(tmp_path / str(seed), ["good film", "bad"][:n], classifier({"good": 1.0}), seed=seed)
        for seed in range(2)
    ]
    shown = "\n".join(lines(mase.compare(*folders)))
    assert f"{counted} compared" in shown
    assert f"{counted} in which" in shown
