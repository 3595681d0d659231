"""Tests of `mase.run` with documents: what a run holds of them, and that it is continued, compared and summed up."""

import json

import pandas as pd
import pytest
from tests.unit.corpus.runs import files

import mase
from mase.errors import DataError
from mase.models import Callable

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")

PAIRS = [(f"the {kind} film", f"was number {number}") for number, kind in enumerate(("good", "dull", "plain") * 4)]
TABLE = pd.DataFrame(PAIRS, columns=["question", "answer"]).assign(age=range(12), name=[f"r{n}" for n in range(12)])
OPTIONS = {
    "fields": ["question", "answer", "age"],
    "fixed": ["answer"],
    "background": {"age": 0},
    "id_column": "name",
    "keep": ["answer=said"],
}


def judge(records):
    """A function of records whose classes have no names."""
    scores = [0.25 * ("good" in one["question"]) - 0.25 * ("dull" in one["question"]) for one in records]
    positive = [0.5 + score + one["age"] / 100 for score, one in zip(scores, records, strict=True)]
    return [[1 - p, p] for p in positive]


def run(folder, source=TABLE, **options):
    options = {"model": judge, "engine": "here", "n_samples": 8, "part_size": 4} | OPTIONS | options
    return mase.run(source, folder, **options)


def test_a_run_holds_documents_and_the_fields_of_units(tmp_path):
    made = run(tmp_path / "run", target="1")
    texts, units = made.texts().to_pylist(), made.units().to_pylist()
    assert [text["said"] for text in texts] == list(TABLE["answer"])
    assert json.loads(texts[3]["document"]) == [
        {"name": "question", "text": "the good film", "fixed": False},
        {"name": "answer", "text": "was number 3", "fixed": True},
        {"name": "age", "text": "3", "fixed": False, "value": 3, "background": 0},
    ]
    own = [unit for unit in units if unit["id"] == "r3"]
    assert [(unit["field"], unit["start"], unit["text"]) for unit in own] == [
        ("question", 0, "the"), ("question", 4, "good"), ("question", 9, "film"), ("age", 0, "3"),
    ]  # fmt: skip
    explainer = mase.Explainer(judge, n_samples=8, fixed=["answer"], background={"age": 0})
    expected = explainer(TABLE, fields=OPTIONS["fields"], target="1")
    assert [unit["score"] for unit in units] == [score for found in expected for score in found.scores]
    assert made.manifest.asked.method["fixed"] == ["answer"]
    assert {effect.word for effect in mase.summarise(made, min_texts=2).words} <= {"good", "dull", "plain"}


def test_a_run_of_documents_is_continued_and_refuses_other_fields(tmp_path):
    whole = run(tmp_path / "whole")
    expected = files(tmp_path / "whole")
    run(tmp_path / "run", shard="1/2")
    assert files(tmp_path / "run") != expected
    assert run(tmp_path / "run").is_complete
    assert files(tmp_path / "run") == expected
    for change in ({"fields": ["question", "age"], "fixed": ()}, {"fixed": ()}, {"background": {"age": 1}}):
        with pytest.raises(DataError, match=r"has the input|fixed|background"):
            run(tmp_path / "run", **change)
    assert mase.open_run(tmp_path / "whole").units().equals(whole.units())


def test_rows_that_are_no_documents_are_failures_of_these_rows(tmp_path):
    rows = TABLE.head(6).to_dict("records")
    rows[1]["question"], rows[2]["age"], rows[3]["age"] = {"en": "film"}, "old", 200
    del rows[4]["answer"]
    made = run(tmp_path / "run", rows, keep=None)
    errors = made.texts()["error"].to_pylist()
    assert errors == [None, "InvalidTextError", "InvalidTextError", "ModelError", "DataError", None]
    documents = made.texts()["document"].to_pylist()
    assert [document is None for document in documents] == [False, True, True, False, True, False]
    # a document that the model cannot read is kept as it was asked about
    assert json.loads(documents[3])[1] == {"name": "answer", "text": "was number 3", "fixed": True}
    assert set(made.units()["id"].to_pylist()) == {"r0", "r5"}


def test_runs_of_documents_are_compared_by_their_fields(tmp_path):
    one, other = run(tmp_path / "one"), run(tmp_path / "other", seed=1)
    compared = mase.compare(one, other, min_texts=2)
    assert compared.texts.compared == len(TABLE)
    changed = run(tmp_path / "changed", TABLE.assign(age=TABLE["age"] + (TABLE["name"] == "r5")))
    different = mase.compare(one, changed, min_texts=2, common_only=True).texts
    assert (different.compared, different.different) == (len(TABLE) - 1, 1)


def test_a_run_without_texts_has_no_document(tmp_path):
    made = run(tmp_path / "run", keep_texts=False)
    assert made.texts()["document"].null_count == len(TABLE)
    assert set(made.units()["field"].to_pylist()) == {"question", "age"}


def test_lists_of_pairs_and_workers_of_other_processes(tmp_path):
    def entails(pairs):
        return [[0.5, 0.5] if "good" in pair["text"] else [0.25, 0.75] for pair in pairs]

    made = mase.run(PAIRS[:3], tmp_path / "run", model=Callable(entails, ["no", "yes"]), engine="here", n_samples=8)
    assert set(made.units()["field"].to_pylist()) == {"text", "text_pair"}
