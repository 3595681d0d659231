"""Tests of `mase.outputs.csv`."""

import csv
import io
from dataclasses import replace

import pytest
from tests.answers import ANSWER, cited
from tests.attributions import attribution, two_fields

import mase
from mase.io.json import Failure
from mase.outputs.csv import CsvTable
from mase.testing import AdditiveClassifier


def table(*results):
    """The rows that are read back, after the heading."""
    stream = io.BytesIO()
    output = CsvTable(stream)
    for number, result in enumerate(results, 1):
        output.add(number, result)
    output.close()
    return list(csv.DictReader(io.StringIO(stream.getvalue().decode(), newline="")))


@pytest.fixture(scope="module")
def found():
    return mase.Explainer(AdditiveClassifier({"good": 0.25}), n_samples=64)("a good film")


def test_one_row_per_word_with_the_exact_numbers(found):
    rows = table(found, found)
    assert [row["number"] for row in rows] == ["1"] * 3 + ["2"] * 3
    assert [row["position"] for row in rows[:3]] == ["0", "1", "2"]
    assert [row["text"] for row in rows[:3]] == list(found.words)
    assert [float(row["score"]) for row in rows[:3]] == found.scores.tolist()
    assert [float(row["standard_error"]) for row in rows[:3]] == found.standard_errors.tolist()
    assert (rows[0]["response"], rows[0]["link"], float(rows[0]["value"])) == (found.target, found.link, found.response)
    assert [int(row["position"]) for row in sorted(rows[:3], key=lambda row: int(row["rank"]))] == found.order.tolist()
    assert all(found.text[int(row["start"]) : int(row["end"])] == row["text"] for row in rows)


def test_all_responses_have_rows_with_their_own_ranks():
    rows = table(two_fields())
    assert [row["response"] for row in rows] == ["pos"] * 3 + ["neg"] * 3
    assert [row["rank"] for row in rows] == ["1", "2", "3", "3", "1", "2"]
    assert [row["value"] for row in rows] == ["1.5"] * 3 + ["-1.5"] * 3
    assert {row["r2_held_out"] for row in rows} == {""}


def test_the_fit_is_told_on_all_and_on_held_out_rows():
    row = table(attribution(r2=0.75, r2_held_out=0.5))[0]
    assert (row["r2"], row["r2_held_out"]) == ("0.75", "0.5")


def test_an_answer_and_its_sources_are_told():
    rows = table(cited(), two_fields())
    assert [row["cited"] for row in rows[:8]] == [""] * 4 + ["True", "False", "False", "False"]
    assert {row["answer"] for row in rows[:16]} == {ANSWER}
    assert {(row["cited"], row["answer"]) for row in rows[16:]} == {("", "")}
    assert [row["value"] for row in rows[::4]][:4] == ["2.0", "1.0", "0.0", "-1.0"]


def test_scores_without_errors_and_failures_have_empty_cells(found):
    random = mase.Explainer(AdditiveClassifier({"good": 0.25}), method="random")("a good film")
    rows = table(random, Failure(2, "EmptyTextError", "no word, none at all"))
    assert {row["standard_error"] for row in rows[:3]} == {""}
    assert (rows[3]["number"], rows[3]["text"], rows[3]["error"]) == ("2", "", "EmptyTextError: no word, none at all")


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_is_a_formula(found, begin):
    named = replace(found, model={"name": f"{begin}cmd|' /C calc'!A0"})
    rows = table(named, Failure(2, "ModelError", "x"))
    assert {row["model"] for row in rows[:3]} == {f"'{begin}cmd|' /C calc'!A0"}
    negative = table(mase.Explainer(AdditiveClassifier({"dull": -0.25}), n_samples=64)("a dull film", target=1))
    assert min(float(row["score"]) for row in negative) < 0  # numbers stay numbers
