"""Tests of `mase.metrics.result_table`."""

import csv
import io
from math import nan

import pytest

from mase.metrics.intervals import Summary
from mase.metrics.result_table import ResultColumn, ResultTable, long_table
from mase.metrics.standings import Standing


def standing(mean, mark="", p_value=None, n=100, sd=None):
    return Standing(Summary(mean, mean - 0.05, mean + 0.05, n, sd, 1), mark, p_value)


SHARE = ResultColumn(
    "k=1", "higher", True, {"a": standing(0.5, "best"), "b": standing(0.45, "tied", 0.3), "c": standing(0.1, "", 0.01)}
)
MEAN = ResultColumn(
    "mean", "lower", False, {"a": standing(0.5), "b": Standing(None), "c": standing(0.001, "best", n=60, sd=0.02)}
)
TABLE = ResultTable("flips", (SHARE, MEAN), {"a": 100, "b": 100, "c": 80}, "model m")


def test_the_table_marks_the_best_and_those_not_shown_to_be_worse():
    table = TABLE.table()
    assert table.head == ("flips", "k=1 (↑)", "mean (↓)")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "0.500 [0.450,0.550]", "0.500 [0.450,0.550]"],
        ["b", "0.450 [0.400,0.500] ≈", "-"],
        ["c (80 of 100 texts)", "0.100 [0.050,0.150] (100)", "0.001 ±0.020 [-0.049,0.051] (60)"],
    ]
    assert [[cell.bold for cell in row] for row in table.rows] == [
        [False, True, False], [False, False, False], [False, False, True]
    ]  # fmt: skip


def test_the_caption_names_the_texts_and_the_test():
    assert TABLE.caption.startswith("flips (model m): means over 100 texts with 95 % intervals.")
    assert "McNemar's exact test (shares) or a paired permutation test" in TABLE.caption
    for column, other in ((SHARE, "permutation"), (MEAN, "McNemar")):
        assert other not in ResultTable("x", (column,), {"a": 100, "b": 100, "c": 100}).caption
    alone = ResultColumn("mean", "lower", False, {"a": standing(0.5)})
    assert ResultTable("x", (alone,), {"a": 100}).caption == "x: means over 100 texts with 95 % intervals."


def test_numbers_read_back_from_csv():
    rows = list(csv.DictReader(io.StringIO(long_table([TABLE], [("cost", "seconds", "a", "0.1")]).csv())))
    assert [row["mark"] for row in rows] == ["best", "not worse", "", "", "", "best", ""]
    assert [(row["method"], row["mean"], row["p_value"]) for row in rows[:2]] == [
        ("a", "0.5", ""),
        ("b", "0.45", "0.3"),
    ]
    assert {row["mean"] for row in rows if row["method"] == "b" and row["column"] == "mean"} == {""}
    smallest = rows[5]
    assert (smallest["better"], smallest["n_texts"], float(smallest["low"])) == ("lower", "60", pytest.approx(-0.049))
    assert float(smallest["sd_over_batches"]) == 0.02
    assert [rows[-1][name] for name in ("table", "column", "method", "mean")] == ["cost", "seconds", "a", "0.1"]


def test_panels_have_a_line_for_every_method():
    share, mean = TABLE.panels()
    assert [dot.method for dot in share.dots] == [dot.method for dot in mean.dots] == ["a", "b", "c"]
    assert [dot.mark for dot in share.dots] == ["best", "tied", ""]
    assert (share.dots[1].mean, share.dots[1].low) == (0.45, 0.45 - 0.05)
    assert mean.dots[1].mean != mean.dots[1].mean
    unbounded = ResultColumn("mean", "lower", False, {"a": Standing(Summary(0.5, nan, nan, 1, None, 1))})
    assert ResultTable("x", (unbounded,), {"a": 1}).table().rows[0][1].text == "0.500"
