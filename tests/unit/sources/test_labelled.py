"""Tests of `mase.sources.labelled`."""

import os

import pytest

from mase.errors import DataError
from mase.sources.labelled import class_indices, read_labelled


def test_labels_are_names_or_indices():
    assert class_indices(["pos", "neg"], ("neg", "pos")) == {"pos": 1, "neg": 0}
    assert class_indices(["pos", "1", "0"], ("neg", "pos")) == {"pos": 1, "1": 1, "0": 0}
    assert class_indices(["1", "0"], ("1", "0")) == {"1": 0, "0": 1}  # names come first
    assert class_indices(["cafe\u0301"], ("noir", "caf\xe9")) == {"cafe\u0301": 1}
    assert class_indices(["1.0", "1.00"], ("1", "1.0")) == {"1.0": 1, "1.00": 0}
    for wrong in ("2", "positive", "-1", "1" * 5000, "2.0", "0.5", "1.", ""):
        assert class_indices(["pos", wrong], ("neg", "pos")) == {"pos": 1}


def test_a_column_of_numbers_is_read_in_one_way():
    stars = ("1", "2", "3")
    assert class_indices(["0", "2", "1"], stars) == {"0": 0, "2": 2, "1": 1}  # indices, for 0 is no name
    assert class_indices(["1", "2", "5"], stars) == {"1": 0, "2": 1}  # names, for 5 is neither
    assert class_indices(["0", "1", "2", "3"], stars) == {"1": 0, "2": 1, "3": 2}


def test_an_empty_cell_and_null_are_no_label(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\na film,\na plot,0\n")
    (tmp_path / "a.jsonl").write_text('{"text": "a film", "label": null}\n{"text": "a plot", "label": 0}\n')
    for name in ("a.csv", "a.jsonl"):
        assert [row.label for row in read_labelled(tmp_path / name).rows] == [None, "0"]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_folders_and_pipes_are_no_tables(ending, tmp_path):
    (tmp_path / f"folder.{ending}").mkdir()
    os.mkfifo(tmp_path / f"pipe.{ending}")
    for name in ("folder", "pipe"):
        with pytest.raises(DataError, match=name):
            read_labelled(tmp_path / f"{name}.{ending}")


def test_numbers_and_depths_of_tables_are_typed_errors(tmp_path):
    path = tmp_path / "a.jsonl"
    deep = "[" * 900 + "]" * 900

    def labelled(value):
        return f'{{"text": "a", "label": {value}}}'

    rows = [
        labelled("9" * 5_000),
        labelled(2**200),
        '{"text": "a", "label": 1e999}',
        labelled(deep),
        labelled("[" * 100_000),
        f'{{"text": {deep}, "label": 1}}',
        '{"text": "\\ud800", "label": 1}',
        '{"text": "good", "label": 1}',
    ]
    path.write_text("\n".join(rows))
    found = read_labelled(path).rows
    assert len(found) == len(rows)
    assert found[0].error is not None
    assert (found[1].label, found[-1].text) == (str(2**200), "good")
    read_labelled(path, where={"label": "1"})
    (tmp_path / "a.csv").write_text("text,label\na," + "9" * 5_000 + "\n")
    assert read_labelled(tmp_path / "a.csv").rows[0].label == "9" * 5_000
