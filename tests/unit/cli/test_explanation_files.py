"""Tests of `mase.cli.explanation_files`."""

import csv

import pytest
from tests.unit.cli.runs import NUMBERED, same, texts_in

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_file_has_the_form_of_its_suffix(cli, source, tmp_path):
    files = ["-o", "out.csv", "-o", "out.jsonl", "-o", "out.txt", "-o", "page.htm", "--html", "other"]
    assert cli("-i", str(source), *files).exit_code == 0
    assert texts_in(tmp_path / "out.jsonl") == NUMBERED
    assert {row["number"] for row in rows_of(tmp_path / "out.csv")} == {str(n) for n in range(1, len(NUMBERED) + 1)}
    assert "good" in (tmp_path / "out.txt").read_text(encoding="utf-8")
    for name in ("page.htm", "other"):
        assert (tmp_path / name).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_suffix_that_nothing_has_is_refused_before_any_work(cli, tmp_path, monkeypatch):
    monkeypatch.setattr("mase.models.load", lambda *_a, **_k: pytest.fail("the model was loaded"))
    found = cli("a good film", "-o", "found.xlsx")
    assert found.exit_code == 1
    assert ".jsonl" in found.stderr
    assert ".csv" in found.stderr
    assert not list(tmp_path.iterdir())


def test_a_table_needs_lines_of_json_to_go_on_with(cli, source, whole, tmp_path):
    assert cli("-i", str(source), "-o", "out.csv", "--append").exit_code == 2
    assert cli("-i", str(source), "-o", "out.csv").exit_code == 0
    before = (tmp_path / "out.csv").read_bytes()
    assert cli("-i", str(source), "-o", "out.csv").exit_code == 1
    (tmp_path / "out.csv").write_text("older")
    (tmp_path / "part.jsonl").write_bytes(b"".join(whole.read_bytes().splitlines(keepends=True)[:5]))
    found = cli("-i", str(source), "-o", "out.csv", "-o", "part.jsonl", "--append", "--overwrite")
    assert found.exit_code == 0
    assert same(tmp_path / "part.jsonl", whole)
    assert (tmp_path / "out.csv").read_bytes() == before


def test_a_failure_has_a_row_with_its_error(cli, tmp_path):
    assert cli("a good film", "crash", "-o", "out.csv").exit_code == 1
    last = rows_of(tmp_path / "out.csv")[-1]
    assert (last["number"], last["text"]) == ("2", "")
    assert "the model fell over" in last["error"]


def test_files_are_not_made_of_results_that_a_run_refuses_to_go_on_with(cli, source, whole, tmp_path):
    lines = source.read_text().splitlines(keepends=True)
    source.write_text("".join([*lines[:7], "another film\n", *lines[8:]]))
    found = cli("-i", str(source), "-o", "whole.jsonl", "-o", "out.csv", "--html", "page.html", "--append")
    assert found.exit_code == 1
    assert "line 8" in found.stderr
    assert not (tmp_path / "out.csv").exists()
    assert not (tmp_path / "page.html").exists()
