"""Tests of `mase compare`: what it prints and writes, and its exit code."""

import json

import pytest
from click.testing import CliRunner
from tests.runs import WEIGHTS, classifier, write_run

from mase.cli import main

pytest.importorskip("duckdb")
TEXTS = ["good film", "good plot", "dull film", "=bad \x1b[31m cast"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    weights = WEIGHTS | {"good": -2.0}
    ids = ["=a", "b\x1b[2J", "c", "d"]
    return [
        str(write_run(folder / name, TEXTS, classifier(model, 0), ids=ids, n_samples=16))
        for name, model in (("one", WEIGHTS), ("other", weights))
    ]


def mase(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)], prog_name="mase")


@pytest.mark.slow
def test_without_limits_it_only_reports(runs):
    found = mase(*runs, "--min-texts", 2)
    assert found.exit_code == 0, found.stderr
    assert "2 of 4" in found.stdout
    assert not any(ord(character) < 32 and character != "\n" for character in found.stdout)


@pytest.mark.slow
def test_exceeded_limits_set_the_exit_code(runs):
    found = mase(*runs, "--max-flipped", 0.4)
    assert found.exit_code == 3
    assert "--max-flipped" in found.stderr
    assert mase(*runs, "--max-flipped", 0.5).exit_code == 0
    assert mase(runs[0], runs[0], "--max-flipped", 0, "--max-reasons-changed", 0, "--min-top-overlap", 1).exit_code == 0


@pytest.mark.slow
def test_json_and_tables(runs, tmp_path):
    import pyarrow.parquet as pq

    found = mase(*runs, "--json", "--csv", tmp_path / "csv", "--parquet", tmp_path / "parquet")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["predictions"]["flipped"] == 2
    assert pq.read_table(tmp_path / "parquet" / "flips.parquet").num_rows == 2
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["flips.csv", "reasons.csv", "words.csv"]
    assert "\n'=a," in (tmp_path / "csv" / "flips.csv").read_text()
    again = mase(*runs, "--csv", tmp_path / "csv")
    assert again.exit_code == 1
    assert again.stdout == ""


def test_other_texts_are_an_error(runs, tmp_path):
    other = write_run(tmp_path / "other", TEXTS[:2], classifier(WEIGHTS), n_samples=16)
    found = mase(runs[0], other)
    assert found.exit_code == 1
    assert "--common-only" in found.stderr


def test_no_run_is_an_error(runs, tmp_path):
    assert mase(runs[0], tmp_path).exit_code == 1
    assert mase(runs[0]).exit_code == 2
    assert mase(*runs, "--max-flipped", 2).exit_code == 2
