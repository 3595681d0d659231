"""Tests of `mase.outputs`."""

import csv
import io
import json
from dataclasses import replace

import pytest
from tests.answers import ANSWER, cited
from tests.attributions import attribution, two_fields

import mase
from mase.attribution.json import Failure
from mase.errors import DataError, OptionError, UnknownNameError
from mase.outputs import OUTPUTS, form_of
from mase.outputs.formats import CsvTable, HtmlPage, OutputFile
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


def test_the_page_names_the_texts_that_failed():
    stream = io.BytesIO()
    page = HtmlPage(stream)
    page.add(1, attribution())
    page.add(2, Failure(2, "ModelError", "it broke"))
    page.close()
    assert "Text 2: ModelError: it broke" in stream.getvalue().decode()


def test_a_surrogate_is_written_as_a_replacement(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    attribution("good \ud83d").save(tmp_path / "a.json")
    mase.load(tmp_path / "a.json").save(tmp_path / "a.parquet")
    assert "\ufffd" in str(pq.read_table(tmp_path / "a.parquet").to_pylist())


@pytest.mark.parametrize("seed", [7, 2**63, 2**80])
def test_any_seed_is_written_to_parquet(tmp_path, seed):
    pq = pytest.importorskip("pyarrow.parquet")
    mase.Explainer(AdditiveClassifier({"good": 0.25}), seed=seed)("a good film").save(tmp_path / "a.parquet")
    assert {str(row["seed"]) for row in pq.read_table(tmp_path / "a.parquet").to_pylist()} == {str(seed)}
