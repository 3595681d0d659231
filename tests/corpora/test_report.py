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


def test_a_folder_that_is_there_keeps_its_place_and_permissions(tmp_path, monkeypatch):
    summary = mase.summarise(
        write_run(tmp_path / "run", [f"good film {n}" for n in range(12)], classifier({"good": 1.0})), min_texts=10
    )
    folder = tmp_path / "report"
    folder.mkdir(mode=0o700)
    monkeypatch.chdir(folder)
    for _ in range(2):
        page = summary.to_html(".")
        assert page.is_file()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "run"]
