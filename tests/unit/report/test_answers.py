"""Tests of `mase.report.answers`: the answer to a prompt of a run, and its sources."""

from dataclasses import replace

from tests.answers import ANSWER, cited
from tests.runs import run_of

from mase.attribution import Answer, Field, Part, Word
from mase.corpus.columns import schema
from mase.corpus.folder import Folder
from mase.render.palette import Scale
from mase.report.answers import CitedAnswer, Source
from mase.report.entries import Flags, entries


def answers(folder, *attributions):
    return [entry.answer for entry in entries(run_of(folder, [(made, ()) for made in attributions]), Flags())]


def test_each_source_has_its_place_and_its_score(tmp_path):
    whole = cited("It is Paris.", ((0, 12),), [[6.0, 0.2, 3.0, -1.0]])
    one = cited("Yes.", ((0, 4),), [[0.1, 5.0]], sources={"context": "Paris is\nit. It\tis \x1bfine."})
    none = cited("No.", ((0, 3),), [[0.1, -5.0, 0.2, 0.1]])
    found = answers(tmp_path, whole, one, none)
    assert found[0] == CitedAnswer(
        "It is Paris.",
        (
            Source("source 1", "Paris is the capital of France.", "+6.00 ± 0.40"),
            Source("source 2", "The Seine flows through Paris.", "+3.00 ± 0.40"),
        ),
    )
    assert found[1].sources == (Source("", "It is ␛fine.", "+5.00 ± 0.40"),)
    assert found[2].sources == ()


def test_a_source_of_several_parts_is_named_once_with_its_highest_score(tmp_path):
    (found,) = answers(tmp_path, cited())
    assert found.text == ANSWER
    assert [(source.place, source.score) for source in found.sources] == [
        ("source 1", "+7.50 ± 0.40"), ("source 2", "+4.50 ± 0.40"),
    ]  # fmt: skip


def test_the_field_of_the_answer_is_no_part_of_the_prompt(tmp_path):
    made = cited("It is Paris.", ((0, 12),), [[6.0, 0.2, 3.0, -1.0]], generated=False)
    made = replace(made, document=(Field("answer", "It is Paris.", fixed=True), *made.document))
    (entry,) = entries(run_of(tmp_path, [(made, ())]), Flags())
    assert entry.text.startswith("Paris is the capital")
    assert entry.text.endswith("Spree.\nWhere is Paris?")
    assert entry.answer.sources[1].text == "The Seine flows through Paris."
    assert entry.given is None


def test_a_run_of_somebody_else_cites_no_more_than_some(tmp_path):
    text = "a." * 50
    made = cited("Yes.", ((0, 4),), [[5.0] * 50], sources={"context": text})
    run = run_of(tmp_path, [(made, ())])
    column = schema("units").get_field_index("cited")
    units = run.units().set_column(column, "cited", [[True] * 50])
    tables = {"texts": run.texts(), "responses": run.responses(), "units": units, "timings": run.timings()}
    Folder(run.folder.storage).write(0, tables, {})
    (entry,) = entries(run, Flags())
    assert len(entry.answer.sources) == 20


def test_long_texts_are_cut(tmp_path):
    made = cited("a" * 9_000, ((0, 9_000),), [[5.0]], sources={"context": "b" * 900 + "."})
    made = replace(made, answer=Answer("a" * 9_000, (Part(0, 9_000, "answer"),), generated=True))
    (found,) = answers(tmp_path, made)
    assert (len(found.text), found.text[-2:]) == (4_000, "a…")
    assert len(found.sources[0].text) == 200


def test_a_score_without_an_interval_has_none():
    found = CitedAnswer.of("Yes.", [Word("it", 0, 2, "text", 2.5, None)], Scale.of(2.5), named=True)
    assert found.sources == (Source("text", "it", "+2.50"),)
