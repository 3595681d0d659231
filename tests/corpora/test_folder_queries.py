"""The queries of docs/run.md, on a run whose answers are known."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.attributions import attribution
from tests.runs import run_of

from mase.errors import InvalidTextError
from mase_corpora.schema import TABLES, schema

duckdb = pytest.importorskip("duckdb")
PAGE = Path(__file__).parents[2] / "docs" / "run.md"
if not PAGE.is_file():
    pytest.skip("the documents are in the repository", allow_module_level=True)
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """25 texts: 21 with "good", 3 of them in capitals; one with a wrong prediction, one failed, one with a poor fit."""
    good = [(attribution("Good film", [0.5, 0.1], label="pos"), ("pos",)) for _ in range(3)]
    good += [(attribution("good plot", [0.5, -0.1], label="pos"), ("pos",)) for _ in range(18)]
    wrong = attribution("dull film", [0.1, -0.5], label="pos", notes=[("few-samples", "few")])
    poor = attribution("x", [0.0], label="neg")
    poor = replace(poor, responses=(replace(poor.responses[0], r2=0.25),))
    rest = [(wrong, ("neg",)), (poor, ("neg",)), (("bad", InvalidTextError("no")), ("neg",))]
    place = tmp_path_factory.mktemp("queries")
    run_of(place, [*good, *rest], kept=["label"], part_size=8)
    return place


def answer(folder, query):
    return duckdb.sql(query.replace("read_parquet('", f"read_parquet('{folder.as_posix()}/")).fetchall()


def test_there_are_three():
    assert len(QUERIES) == 3


def test_words_that_push_most(folder):
    assert [(response, word, n, round(effect, 6)) for response, word, n, effect in answer(folder, QUERIES[0])] == [
        ("pos", "good", 21, 0.5)
    ]


def test_wrong_predictions(folder):
    ((name, label, prediction, _, word, score),) = answer(folder, QUERIES[1])
    assert (name, label, prediction, word, score) == ("id 21", "neg", "pos", "dull", 0.1)


def test_texts_that_should_not_be_trusted(folder):
    found = [(name, error, notes) for name, error, _, notes in answer(folder, QUERIES[2])]
    assert found == [("id 21", None, ["few-samples"]), ("id 22", None, []), ("id 23", "InvalidTextError", [])]


def test_every_column_is_described():
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert {name for table in TABLES for name in schema(table).names} <= named
