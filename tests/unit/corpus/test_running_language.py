"""Tests of `mase.run` with language models: a corpus of prompts, with answers or without."""

import json

import pandas as pd
import pytest
from tests.language_models import ANSWER, Parrot
from tests.unit.corpus.runs import files

import mase
from mase.errors import DataError
from mase.models.language.generated import Generated
from mase.report.folder import write_report

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")

PARROT = "tests.language_models:parrot"
TEXTS = ["The cat sat on it. It was warm.", "Nobody came. The dog ran.", "", "The cat sat. The dog ran."]
TABLE = pd.DataFrame({
    "name": ["a", "b", "c", "d"],
    "context": TEXTS,
    "query": ["who sat ?", "who ran ?", "who ?", "who ?"],
    "answer": ["", "The dog ran.", "", ""],
})  # fmt: skip
OPTIONS = {"fields": ["context", "query", "answer"], "fixed": ["query"], "id_column": "name", "units": "sentence"}


def run(folder, **options):
    given = {"model": PARROT, "engine": "here", "n_samples": 8, "part_size": 2} | OPTIONS
    return mase.run(TABLE, folder, **given | options)


def test_a_run_holds_the_answers_that_were_generated(tmp_path):
    made = run(tmp_path / "run")
    texts = made.texts().to_pylist()
    assert [text["explained_answer"] for text in texts] == [ANSWER, "The dog ran.", None, ANSWER]
    assert [text["error"] for text in texts] == [None, None, "EmptyTextError", None]
    assert json.loads(texts[1]["document"])[2] == {"name": "answer", "text": "The dog ran.", "fixed": True}
    assert [row["response"] for row in made.responses().to_pylist()] == ["answer"] * 3
    units = [unit for unit in made.units().to_pylist() if unit["id"] == "b"]
    assert [(unit["field"], unit["text"], unit["rank"]) for unit in units] == [
        ("context", "Nobody came.", 2), ("context", "The dog ran.", 1),
    ]  # fmt: skip
    assert [unit["cited"] for unit in units] == [False, True]
    assert made.manifest.asked.model["max_new_tokens"] == 128
    without = run(tmp_path / "without", fields=["context", "query"])
    assert [text["explained_answer"] for text in without.texts().to_pylist()] == [ANSWER, ANSWER, None, ANSWER]


def test_workers_write_the_same_bytes_and_go_on_where_they_stopped(tmp_path):
    run(tmp_path / "here")
    run(tmp_path / "local", shard="1/2")
    assert not mase.open_run(tmp_path / "local").is_complete
    assert run(tmp_path / "local", engine="local", jobs=1).is_complete
    assert files(tmp_path / "local") == files(tmp_path / "here")


def test_a_run_is_summed_up_and_shown(tmp_path):
    pytest.importorskip("duckdb")
    made = run(tmp_path / "run")
    found = mase.summarise(made, min_texts=2)
    assert [(row.prediction, row.probability) for row in found.predictions] == [("answer", None)]
    assert write_report(found, tmp_path / "report").is_file()


def test_runs_of_other_answers_are_other_texts(tmp_path):
    pytest.importorskip("duckdb")
    first, again = run(tmp_path / "first"), run(tmp_path / "again", seed=1)
    assert mase.compare(first, again).texts.compared == 3
    other = run(tmp_path / "other", model=Parrot("The dog sat."))
    with pytest.raises(DataError, match="2 with different documents or answers"):
        mase.compare(first, other)
    assert mase.compare(first, other, common_only=True).texts.compared == 1


def test_a_run_is_not_continued_with_another_template(tmp_path):
    def prompted(template, **options):
        return run(tmp_path, model=Generated(Parrot(), template=template), fields=["context", "query"], **options)

    prompted("{context} ? {query}", shard="1/2")
    with pytest.raises(DataError, match="template"):
        prompted("{query} ? {context}")
    assert prompted("{context} ? {query}").is_complete
