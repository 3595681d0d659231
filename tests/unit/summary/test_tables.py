"""Tests of the files of a summary."""

import csv

import pyarrow.parquet as pq
import pytest

from mase.errors import DataError, UnknownNameError
from mase.summary.effects import Example, Family, WordEffect
from mase.summary.overview import Overview
from mase.summary.summary import Settings, Summary
from mase.summary.tables import ROWS, table, write_csv, write_parquet

WORD = WordEffect(
    "=pos", "away", "+1", 30, 31, -0.5, -0.6, -0.4, 0.1, 0.001, 0.002,
    (Example("a", 0, "@not ", "+1", " film", -0.7, cut_before=True), Example("b", 1, "", "+1", "", -0.2)),
)  # fmt: skip
SUMMARY = Summary(
    Settings(None, None, 20, 20, 0.01), Overview("m", "-mase", 3, 2, 1, 2, 10, 100), predictions=(), quality=(),
    notes=(), failures=(), words=(WORD,), phrases=(), confusion=(), wrong=(), low_confidence=(), groups=(),
    families=(Family("words", 5, 1),),
)  # fmt: skip


def test_csv_has_every_table_and_no_formula(tmp_path):
    paths = write_csv(SUMMARY, tmp_path / "new")
    assert {path.stem for path in paths} == set(ROWS)
    with (tmp_path / "new" / "words.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["response"], row["word"], row["effect"]) == ("'=pos", "'+1", "-0.5")
    assert (row["example_1"], row["example_2"], row["example_3"]) == ("…@not [+1] film", "[+1]", "")


def test_parquet_has_the_same_tables_with_types(tmp_path):
    for path in write_parquet(SUMMARY, tmp_path):
        assert pq.read_table(path).equals(table(SUMMARY, path.stem))
    words = table(SUMMARY, "words")
    assert [str(words.schema.field(name).type) for name in ("word", "n_texts", "effect")] == [
        "string", "int64", "double",
    ]  # fmt: skip
    assert table(SUMMARY, "wrong").schema.field("difference").type == words.schema.field("effect").type


def test_a_table_is_a_data_frame():
    assert SUMMARY.to_frame("words")["word"].tolist() == ["+1"]
    assert SUMMARY.to_frame("overview")["accuracy"].isna().all()
    with pytest.raises(UnknownNameError, match="words"):
        SUMMARY.to_frame("word")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError):
        write_csv(SUMMARY, tmp_path / "file")
