"""Tests of `mase_corpora.comparison`."""

from pathlib import Path

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


def test_a_report_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    run = write_run(tmp_path / "run", [f"good film {n}" for n in range(12)], classifier({"good": 1.0}))
    summary, folder = mase.summarise(run, min_texts=10), tmp_path / "report"
    summary.to_html(folder)
    before, rename = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}, Path.rename

    def interrupted(self, target):
        if self.parent.name.startswith(".report.") and not self.parent.name.endswith(".former"):
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        summary.to_html(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "run"]
