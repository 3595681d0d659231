"""Tests of `mase_corpora.report`: whole or not at all, and nothing of anybody else is replaced."""

import pytest
from tests.attributions import attribution
from tests.runs import run_of
from tests.summaries import summary

from mase.errors import DataError
from mase_corpora import report as module
from mase_corpora.report import check_free, write_report


@pytest.fixture
def run(tmp_path):
    return run_of(tmp_path / "run", [(attribution(), ("pos", "web"))] * 3, kept=["label", "source"])


def files(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


REPORT = ["index.html", "list/index.js", "list/texts-00000.js", "list/words-00000.js"]


def test_a_report_is_a_page_and_a_list(tmp_path, run):
    written = write_report(summary(run=run), tmp_path / "new" / "report")
    assert written == tmp_path / "new" / "report" / "index.html"
    assert files(tmp_path / "new" / "report") == REPORT
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report"]


def test_equal_runs_make_equal_reports(tmp_path, run):
    for name in ("a", "b"):
        write_report(summary(run=run), tmp_path / name)
    for name in REPORT:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_former_report_is_replaced(tmp_path, run):
    target = tmp_path / "report"
    target.mkdir()
    write_report(summary(run=run), target)
    (target / "list" / "texts-00007.js").write_text("old")
    write_report(summary(model="another", run=run), target)
    assert files(target) == REPORT
    assert "another on" in (target / "index.html").read_text("utf-8")


@pytest.mark.parametrize("name", ["notes.txt", "index.html", "list/mine.txt", "list/index.js"])
def test_what_is_not_of_a_report_is_left_alone(tmp_path, run, name):
    target = tmp_path / "report"
    if name.startswith("list/m"):
        write_report(summary(run=run), target)
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    (target / name).write_text("mine")
    before = files(target)
    with pytest.raises(DataError, match="choose another folder"):
        write_report(summary(run=run), target)
    assert files(target) == before
    assert (target / name).read_text() == "mine"


def test_a_file_and_a_name_that_is_none_are_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataError, match="it is a file"):
        check_free(tmp_path / "file")
    with pytest.raises(DataError):
        check_free("a\0b")


@pytest.mark.parametrize("broken", ["page", "_write_list"])
def test_a_failure_leaves_the_former_report(tmp_path, run, monkeypatch, broken):
    target = tmp_path / "reports" / "report"
    write_report(summary(run=run), target)
    before = (target / "index.html").read_bytes()

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, broken, fail)
    with pytest.raises(DataError, match="No space left"):
        write_report(summary(model="another", run=run), target)
    assert (target / "index.html").read_bytes() == before
    assert [path.name for path in target.parent.iterdir()] == ["report"]


def test_a_report_without_texts(tmp_path, run):
    write_report(summary(run=run), tmp_path / "report", texts=False)
    assert files(tmp_path / "report") == ["index.html"]
    bare = run_of(tmp_path / "bare", [(attribution(), ("pos", "web"))], kept=["label", "source"], documents=False)
    write_report(summary(run=bare), tmp_path / "report")
    assert files(tmp_path / "report") == ["index.html"]
