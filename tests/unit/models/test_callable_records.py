"""Tests of `mase.models.callable` for documents of several fields: pairs, and texts beside numbers and categories."""

import random
from decimal import Decimal

import numpy as np
import pytest

import mase
from mase.document import Document
from mase.errors import InvalidTextError, ModelError
from mase.io.json import dumps, loads
from mase.metrics.evaluator import Evaluator
from mase.models import Callable
from mase.text import find_words

RECORD = {"title": "good film", "body": "a superb cast", "age": 60, "country": "DE", "question": "is it good"}
BACKGROUND = {"age": 40, "country": "FR"}
WORTH = {"title": {"good": 0.0625, "film": -0.03125}, "body": {"superb": 0.125, "cast": 0.0, "a": 0.015625}}


def additive(records):
    """Return probabilities that add up known amounts per field; a record is emptied, as a careless function may."""
    found = []
    for record in records:
        words = {name: [record[name][s:e] for s, e in find_words(record[name])] for name in WORTH}
        p = 0.25 + sum(worth.get(word, 0.0) for name, worth in WORTH.items() for word in words[name])
        p += 0.005 * (record["age"] - 40) - 0.09375 * (record["country"] == "DE") + 0.01 * len(record["question"])
        found.append([1 - p, p])
        record.clear()
    return found


TRUTH = {
    "good": 0.0625, "film": -0.03125, "a": 0.015625, "superb": 0.125, "cast": 0.0, "60": 0.1, "DE": -0.09375
}  # fmt: skip


def explainer(function=additive, **options):
    options = {
        "background": BACKGROUND,
        "fixed": ["question"],
        "link": "probability",
        "n_samples": 128,
        "evidence": 0,
    } | options
    return mase.Explainer(function, **options)


@pytest.mark.parametrize("method", ["mase", "occlusion", "kernel-shap", "partition-shap", "lime"])
def test_scores_of_an_additive_function_are_its_amounts_in_every_field(method):
    found = explainer(method=method)(RECORD, target=1)
    assert [unit.field for unit in found.units] == ["title", "title", "body", "body", "body", "age", "country"]
    tolerance = 0.05 if method == "lime" else 1e-6  # its ridge shrinks the scores
    assert dict(zip(found.words, found.scores.tolist(), strict=True)) == pytest.approx(TRUTH, abs=tolerance)


def test_the_function_gets_the_values_themselves_and_the_mapping_stays_as_it_was():
    seen = []

    def watch(records):
        seen.extend(dict(record) for record in records)
        return additive(records)

    mapping = dict(RECORD)
    explainer(watch)(mapping, target=1)
    assert mapping == RECORD
    assert all(list(record) == list(RECORD) for record in seen)
    assert {record["question"] for record in seen} == {"is it good"}
    assert {(record["age"], record["country"]) for record in seen} == {
        (age, country) for age in (60, 40) for country in ("DE", "FR")
    }
    assert {record["title"] for record in seen} == {"good film", "good", "film", ""}
    assert all(type(record["age"]) is int for record in seen)


def test_words_of_a_field_that_are_all_masked_leave_it_empty_or_masked():
    seen = []

    def watch(records):
        seen.extend(record["text"] for record in records)
        return [[0.5, 0.5]] * len(records)

    mase.Explainer(watch, n_samples=16, evidence=0)((" one ", "two"))
    assert set(seen) == {" one ", ""}
    seen.clear()
    mase.Explainer(Callable(watch, mask_token="[M]"), n_samples=16, evidence=0)((" one ", "two"))
    assert set(seen) == {" one ", " [M] "}


def test_a_value_equal_to_its_background_scores_exactly_0():
    for method in ("mase", "occlusion", "permutation-importance"):
        found = explainer(method=method)(RECORD | {"age": 40}, target=1)
        age = found.words.index("40")
        assert (found.scores[age], found.standard_errors[age]) == (0.0, 0.0)
        assert found.scores[found.words.index("DE")] != 0


def test_a_fixed_value_equal_to_its_background_takes_no_other_word_with_it():
    found = explainer(fixed=["question", "age"], background={"age": 60, "country": "FR"})(RECORD, target=1)
    assert dict(found.as_list()) == pytest.approx({word: TRUTH[word] for word in TRUTH if word != "60"}, abs=1e-6)


@pytest.mark.parametrize("method", ["mase", "kernel-shap"])
def test_a_fixed_value_equal_to_its_background_leaves_the_last_word_its_score(method):
    record = {"age": 40} | RECORD | {"title": "film", "body": "a superb"}
    found = explainer(method=method, fixed=["age", "country", "question"])(record, target=1)
    assert found.words[-1] == "superb"
    assert found.scores[-1] == pytest.approx(TRUTH["superb"])


def test_a_value_equal_to_its_background_takes_no_word_of_a_zoom_with_it():
    record = RECORD | {"age": 40, "body": "superb"}
    found = explainer(units="line", zoom=1, fixed=["question", "title"])(record, target=1)
    assert found.zoomed.as_list() == [("superb", pytest.approx(TRUTH["superb"]))]


def test_numbers_of_other_types_are_values_and_backgrounds():
    record = RECORD | {"age": Decimal("60")}
    found = explainer(background={"age": np.int64(40), "country": np.str_("FR")})(record, target=1)
    assert found == loads(dumps(found))
    assert found.scores[found.words.index("60.0")] == pytest.approx(TRUTH["60"])


def test_a_number_without_background_is_refused_and_says_what_to_pass():
    for background in ({}, {"country": "FR"}):
        with pytest.raises(InvalidTextError, match=r"background={'age': \.\.\.} or fixed=\['age'\]"):
            explainer(background=background)(RECORD)
    assert explainer(background={}, fixed=["age", "question"])(RECORD).words[-1] == "DE"  # a text of one word
    with pytest.raises(InvalidTextError, match="age"):
        Evaluator(Callable(additive), methods=["occlusion"])(RECORD)


def test_a_category_of_several_words_is_one_unit_and_an_empty_one_has_none():
    def function(records):
        return [[0.5, 0.5] if record["place"] == "New York, NY" else [0.75, 0.25] for record in records]

    options = {"background": {"place": "Rome", "n": -1}, "n_samples": 16, "link": "probability"}
    found = mase.Explainer(function, **options, evidence=0)(
        {"place": "New York, NY", "text": "a b", "n": -2.5e-9}, target=1
    )
    assert found.words == ("New York, NY", "a", "b", "-2.5e-09")
    assert found.scores.tolist() == pytest.approx([0.25, 0, 0, 0], abs=1e-9)
    empty = {"place": "", "text": "a b", "n": 1}
    without = mase.Explainer(function, **options, evidence=0)(empty)
    assert without.words == ("a", "b", "1")
    (message,) = [note.message for note in without.notes if note.code == "empty-category"]
    assert "'place'" in message
    assert "empty-category" in {
        note.code for note in mase.Explainer(function, **options, evidence=0)(empty | {"place": " "}).notes
    }
    for other in (found, mase.Explainer(function, fixed=["place"], **options, evidence=0)(empty)):
        assert "empty-category" not in {note.code for note in other.notes}


def test_exchanged_words_leave_values_their_background():
    seen = []

    def watch(records):
        seen.extend(dict(record) for record in records)
        return additive(records)

    found = explainer(watch, method="permutation-importance", n_samples=70)(RECORD, target=1)
    assert {record["age"] for record in seen} == {60, 40}
    assert found.scores[found.words.index("60")] == pytest.approx(0.1)
    assert {"60", "DE", "superb"} & {record["title"].split()[0] for record in seen}  # words move between the fields


def test_evidence_and_questions_about_records():
    asked = explainer(evidence=2, n_samples=200)
    found = asked(RECORD, target=1)
    best = found.evidence.without[0]
    assert found.words[best.units[0]] == "superb"
    assert best.target_probability == pytest.approx(found.target_probability - 0.125)
    changed = asked.predict_without(found, [found.words.index("60"), found.words.index("DE")])
    assert changed.target_probability == pytest.approx(found.target_probability - 0.1 + 0.09375)


def test_metrics_mask_words_and_values_of_a_record():
    document = Document.of(RECORD, fixed=["question"], background=BACKGROUND)
    judged = Evaluator(Callable(additive), methods=["mase", "random"], metrics=["aopc"], n_samples=100)(document)
    assert judged.by_method["mase"].values[0] > judged.by_method["random"].values[0]


def test_same_seed_same_scores_and_the_fields_are_part_of_the_seed():
    def noisy(records):
        return [[1 - p, p] for p in (0.3 + 0.1 * random.random() for _ in records)]

    def scores(*texts):
        return [found.scores.tolist() for found in mase.Explainer(noisy, n_samples=30, evidence=0)(list(texts))]

    pair, record = ("good film", "a cast"), {"title": "good film", "body": "a cast"}
    assert scores(pair, record) == scores(record, pair)[::-1]
    assert scores(pair) != scores(record)


def test_results_of_records_survive_json_and_name_the_field_of_a_word(tmp_path):
    found = explainer()(RECORD, target=1)
    again = loads(dumps(found))
    assert again == found
    assert [field.content for field in again.document] == list(RECORD.values())
    assert list(found.to_frame()["field"].unique()) == ["title", "body", "age", "country"]


def test_a_function_of_texts_that_is_given_a_record_is_told_so():
    with pytest.raises(ModelError, match="given records, each a dict with the fields text, text_pair"):
        mase.explain(("a", "b"), lambda texts: [[0.5, 0.5] for text in texts if text.lower()], evidence=0)
