"""Tests of `mase.outputs.file`."""

import json

import pytest

import mase
from mase.errors import DataError, OptionError, UnknownNameError
from mase.io.json import Failure
from mase.outputs import OUTPUTS, OutputFile, form_of

FAILURE = Failure(1, "EmptyTextError", "no word")


def test_the_suffix_says_the_form(tmp_path):
    assert form_of("a.b.CSV") == "csv"
    assert form_of("/dev/stdout") == form_of("results") == "jsonl"
    with pytest.raises(OptionError, match=r"\.xls, expected one of \.jsonl, .*\.csv"):
        form_of("a.xls")
    with pytest.raises(UnknownNameError, match="did you mean 'csv'"):
        OutputFile(tmp_path / "a.jsonl", "cvs")
    with OutputFile(tmp_path / "a.csv", "jsonl") as file:
        file.add(1, FAILURE)
    assert json.loads((tmp_path / "a.csv").read_text())["message"] == "no word"


@pytest.mark.parametrize("form", OUTPUTS)
def test_a_file_is_there_whole_or_not_at_all(tmp_path, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"found.{form}"
    path.write_text("older")

    def written():
        with OutputFile(path) as file:
            file.add(1, FAILURE)
            assert path.read_text() == "older"
            raise RuntimeError

    with pytest.raises(RuntimeError):
        written()
    assert path.read_text() == "older"
    with OutputFile(path) as file:
        file.add(1, mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), n_samples=20)("a film"))
        file.add(2, FAILURE)
    assert b"film" in path.read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_no_result_no_file(tmp_path):
    with OutputFile(tmp_path / "found.csv"):
        pass
    assert not list(tmp_path.iterdir())


def test_what_the_system_refuses_is_a_typed_error(tmp_path):
    with pytest.raises(DataError, match="cannot write"), OutputFile("/dev/full", "jsonl") as file:
        file.add(1, FAILURE)
