"""Tests of tables written as CSV and Parquet."""

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.errors import DataError
from mase_corpora.database import check_free, write_tables

TABLE = pa.table({"id": ["=1+1", 'a "b"\nc', None], "x": [1.5, None, -2.0]})


def test_formulas_are_neutralised(tmp_path):
    (path,) = write_tables(tmp_path / "new", {"words": TABLE}, "csv")
    assert path.name == "words.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["id", "x"], ["'=1+1", "1.5"], ['a "b"\nc', ""], ["", "-2.0"]]


def test_parquet_is_as_it_is(tmp_path):
    (path,) = write_tables(tmp_path, {"words": TABLE}, "parquet")
    assert pq.read_table(path).equals(TABLE)


def test_a_file_is_not_replaced(tmp_path):
    (tmp_path / "words.csv").symlink_to(tmp_path / "none")
    for attempt in (
        lambda: check_free(tmp_path, ["words"], "csv"),
        lambda: write_tables(tmp_path, {"words": TABLE}, "csv"),
    ):
        with pytest.raises(DataError):
            attempt()
    assert not (tmp_path / "none").exists()
