"""Tests of `mase.models.function`."""

import pickle
import random
import re
import signal
import subprocess
import sys
import unicodedata
from decimal import Decimal
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.models.black_boxes import answering
from tests.unit.models.modules import TEXT

import mase
from mase.attribution.json import dumps, loads
from mase.document import Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, ModelError, OptionError, ShapeError
from mase.metrics.evaluation import Evaluator
from mase.metrics.masking import masker
from mase.models import Callable, adapt
from mase.models.function import OfFrames, Rewriter, columns_of, rewritten, word_tokens
from mase.testing import LogisticClassifier
from mase.text import find_words

bag = LogisticClassifier({"good": 2.0, "bad": -2.0})


def test_black_boxes_may_keep_their_array_change_their_list_and_return_tensors():
    shared = np.empty((512, 2))

    def same_array(texts):
        shared[: len(texts)] = bag(texts)
        return shared[: len(texts)]

    def own_list(texts):
        answer = bag(list(texts))
        texts[:] = ["gone"] * len(texts)
        return answer

    def tensor(texts):
        return torch.tensor(bag(texts), requires_grad=True)

    expected = mase.Explainer(Callable(bag, labels=["neg", "pos"]), method="occlusion")("a good film , not bad").scores
    for function in (same_array, own_list, tensor):
        found = mase.Explainer(Callable(function, labels=["neg", "pos"]), method="occlusion")("a good film , not bad")
        assert found.scores.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_black_box_whose_columns_change_is_an_error():
    with pytest.raises(ShapeError, match="returned 3 columns, expected 2"):
        mase.Explainer(Callable(lambda texts: np.full((len(texts), 2 + (len(texts) > 1)), 1 / (2 + (len(texts) > 1)))))(
            "a b c"
        )
    with pytest.raises(OptionError, match="expected one name per class"):
        Callable(bag, labels="no")


def test_black_box_is_explained_by_taking_words_out():
    found = mase.Explainer(Callable(bag, labels=["neg", "pos"]), n_samples=400)("a good film , not bad")
    assert found.method["name"] == "mase"
    blind = mase.Explainer(Callable(bag, labels=["neg", "pos"]), method="mase-nlgp", n_samples=400)(
        "a good film , not bad"
    )
    assert blind.method["name"] == "mase-mask"
    assert found.target == "neg" or found.prediction.probability == pytest.approx(0.5)
    scores = dict(
        mase.Explainer(Callable(bag, labels=["neg", "pos"]), n_samples=400)(
            "a good film , not bad", target="pos"
        ).as_list()
    )
    assert scores["good"] > 0.2 > 0.05 > abs(scores["film"])
    assert scores["bad"] < -0.2


@pytest.mark.parametrize("token", ["", 103, b"[MASK]", ["[MASK]"]])
def test_a_mask_token_is_a_string(token):
    with pytest.raises(OptionError, match="expected the string that replaces a masked word"):
        Callable(lambda texts: [[0.5, 0.5] for _ in texts], mask_token=token)


def test_black_box_mask_token_and_deletion():
    seen = []

    def watch(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    mase.Explainer(Callable(watch, mask_token="<unk>"), n_samples=50)("one two")
    assert {"<unk> two", "one <unk>", "<unk> <unk>", "one two"} <= set(seen)
    seen.clear()
    mase.Explainer(Callable(watch), n_samples=200)("one, two three")
    assert {"one, three", "two three", "one, two"} <= set(seen)
    assert not any("  " in text for text in seen if text.strip())


def test_black_box_of_one_column_and_of_separate_questions():
    one = Callable(lambda texts: [0.8] * len(texts), labels=["spam"])
    assert one.labels == ("not spam", "spam")
    assert mase.Explainer(one, n_samples=40)("one two three").target == "spam"
    many = Callable(lambda texts: [[0.8, 0.9, 0.1]] * len(texts), multilabel=True)
    assert mase.Explainer(many, n_samples=40)("one two three").target == "1"


class Fitted:
    classes_ = (3, 1)

    def predict_proba(self, texts):
        return [[0.2, 0.8]] * len(texts)


class Frame(list):
    """A table with names of columns, as a data frame."""

    def __init__(self, rows, columns):
        super().__init__(rows)
        self.columns = columns


def test_classes_are_called_as_their_estimator_or_table_calls_them():
    assert Callable(Fitted().predict_proba).labels == ("3", "1")
    assert mase.Explainer(Fitted().predict_proba, n_samples=40)("one two three").target == "1"
    assert Callable(Fitted().predict_proba, labels=["three", "one"]).labels == ("three", "one")
    assert Callable(lambda texts: Fitted().predict_proba(texts)).labels == ("0", "1")
    named = Callable(lambda texts: Frame(Fitted().predict_proba(texts), ["neg", "pos"]))
    assert named.labels == ("neg", "pos")
    assert mase.Explainer(named, n_samples=40)("one two three").target == "pos"
    assert Callable(lambda texts: Frame([[0.3]] * len(texts), ["spam"])).labels == ("not spam", "spam")
    numbers = [[0.3, 0.7]]
    assert Callable(lambda texts: Frame(numbers * len(texts), [(0, 1), (0, 2)])).labels == ("0", "1")  # no names
    assert Callable(lambda texts: Frame([[0.3]] * len(texts), range(1))).labels == ("0", "1")
    assert Callable(lambda texts: Frame([[7.0]] * len(texts), ["price"]), outputs="values").labels == ("price",)


def test_columns_are_known_by_name():
    orders = iter([["neg", "pos"], ["pos", "neg"], ["pos", "odd"]])
    model = Callable(lambda texts: Frame([[0.2, 0.8]] * len(texts), next(orders)))
    assert model.labels == ("neg", "pos")
    assert model.predict(["one"]).tolist() == [[0.8, 0.2]]
    with pytest.raises(ModelError):
        model.predict(["one"])


def test_columns_with_the_names_of_the_labels_are_in_their_order():
    orders = iter([["pos", "neg"], ["neg", "pos"], ["a", "b"]])
    model = Callable(lambda texts: Frame([[0.2, 0.8]] * len(texts), next(orders)), labels=["neg", "pos"])
    assert model.predict(["one"]).tolist() == [[0.8, 0.2]]
    assert model.predict(["one"]).tolist() == [[0.2, 0.8]]
    with pytest.raises(ModelError):
        model.predict(["one"])
    orders = iter([["a", "b"], ["b", "a"]])  # the labels are what the user calls them
    model = Callable(lambda texts: Frame([[0.2, 0.8]] * len(texts), next(orders)), labels=["neg", "pos"])
    assert model.predict(["one"]).tolist() == [[0.2, 0.8]]
    assert model.predict(["one"]).tolist() == [[0.8, 0.2]]


def test_any_number_of_samples_is_as_good_as_all_subsets_of_a_short_text():
    asked = mase.Explainer(Callable(bag), n_samples=10**12)("a good film")
    assert asked.fit.n_queries < 24


def test_black_box_columns_must_be_as_many_as_its_labels():
    for wrong in (Callable(lambda texts: [[0.2, 0.3, 0.5]] * len(texts), labels=["spam"]),
                  Callable(lambda texts: [0.8] * len(texts), multilabel=True)):  # fmt: skip
        with pytest.raises(ShapeError, match="expected"):
            mase.Explainer(wrong, n_samples=40)("one two three")


def test_black_box_is_asked_each_text_twice():
    """Otherwise scores could not be said to have no sampling error."""
    seen = []

    def watch(texts):
        seen.extend(texts)
        return bag(texts)

    found = mase.Explainer(Callable(watch), n_samples=500)("good film")
    assert {*seen} == {"good film", "good", "film", ""}
    assert len(seen) <= 2 * 4 + 2  # two once more, alone
    assert found.scores[0] > found.scores[1]


@pytest.mark.parametrize("method", ["mase-gradient", "mase-paper", "mase-path", "standard-gaussian"])
def test_methods_that_a_black_box_cannot_serve(method):
    with pytest.raises(CapabilityError, match=r"use 'mase'$|use method='mase'"):
        mase.Explainer(Callable(bag), method=method)


def test_taking_words_out_needs_zeros_and_ones(lstm_model):
    for wrong in ("design=iid", "estimator=mean-gradient"):
        with pytest.raises(OptionError, match="zeros and ones"):
            mase.Explainer(lstm_model, method=f"mase-mask+{wrong}")(TEXT)


ROWS = [[0.25, 0.75], [0.5, 0.5]]


class Table:
    """As of pandas: iterating gives the names of the columns."""

    shape = (2, 2)

    def __iter__(self):
        return iter(["text", "label"])


NO_TEXTS = [
    ("a", "b", "c"), {"premise": "a", "hypothesis": None}, {}, {"a", "b"}, frozenset({"a"}), b"a film",
    bytearray(b"a"), memoryview(b"a"), 3, 2.5, None, object(), Table(), np.array("a film"), np.array([["a", "b"]]),
    [("a", 3)], [["a", "b"]], [b"a"], [None], [3],
]  # fmt: skip


@pytest.mark.parametrize("given_", NO_TEXTS, ids=lambda given_: type(given_).__name__)
def test_what_is_no_text_is_refused(given_, lstm_model):
    for model in (answering([[0.5, 0.5]]), lstm_model):
        explainer = mase.Explainer(model, n_samples=16)
        for ask in (explainer, lambda texts, it=explainer: list(it.stream(texts)), model.predict):
            if ask == model.predict and isinstance(given_, tuple):
                continue  # it takes nothing but several texts, so that a tuple cannot be meant otherwise
            with pytest.raises(InvalidTextError, match="expected"):
                ask(given_)


@pytest.mark.parametrize("given_", NO_TEXTS, ids=lambda given_: type(given_).__name__)
def test_what_is_no_single_text_is_refused(given_, lstm_model):
    box = answering([[0.5, 0.5]], ["a", "b"])
    for ask in (
        Evaluator(box),
        Evaluator(lstm_model),
        lambda text: mase.explain(text, box),
        box.encode,
        lstm_model.encode,
    ):
        with pytest.raises(InvalidTextError):
            ask(given_)


def test_pairs_that_come_one_by_one_are_pairs():
    explainer = mase.Explainer(Callable(halves), n_samples=16)
    for pairs in (zip("ab", "cd", strict=True), iter({"a": "b"}.items())):
        assert all(len(found.document) == 2 for found in explainer(pairs))
    with pytest.raises(InvalidTextError):
        explainer(enumerate("ab"))


def test_one_text_is_not_several(lstm_model):
    for model in (answering([[0.5, 0.5]]), lstm_model):
        with pytest.raises(InvalidTextError):
            model.predict("abc")


def test_strings_of_other_types_and_several_texts_in_other_forms():
    class Own(str):
        def __str__(self):
            return "something else"

    explainer = mase.Explainer(Callable(lambda texts: [[0.5, 0.5]] * len(texts)), n_samples=8)
    for text in (np.str_("a film"), Own("a film")):
        found = explainer(text)
        assert (found.text, type(found.text)) == ("a film", str)
    several = ["a", "b"]
    judged = Evaluator(explainer.model, methods=["occlusion"])(np.str_("a film"))
    assert (judged.text, type(judged.text)) == ("a film", str)
    forms = (
        np.array(several),
        (text for text in several),
        iter(several),
        {"k": "a", "l": "b"}.values(),
        np.array(several, object),
    )
    for texts in forms:
        assert [one.text for one in explainer(texts)] == several


def halves(texts):
    return [[0.5, 0.5]] * len(texts)


def test_a_black_box_that_was_asked_can_still_be_pickled():
    model = Callable(halves, ["a", "b"])
    model.predict(["one"])
    assert pickle.loads(pickle.dumps(model)).predict(["one"]).tolist() == [[0.5, 0.5]]


def test_a_program_that_is_asked_to_end_ends_while_a_black_box_answers():
    def asked(texts):
        signal.raise_signal(signal.SIGTERM)
        return [[0.5, 0.5] for _ in texts]

    class Service:
        def end(self, number, frame):
            sys.exit(3)

        __call__ = end

    for handler in (lambda *_: sys.exit(3), Service().end, Service(), partial(lambda *_: sys.exit(3), "web")):
        before = signal.signal(signal.SIGTERM, handler)
        try:
            with pytest.raises(SystemExit):
                Callable(asked, ["no", "yes"]).predict([TEXT])
            with pytest.raises(ModelError):  # the model itself wants to end the program
                Callable(lambda texts: sys.exit(3), ["no", "yes"]).predict([TEXT])
        finally:
            signal.signal(signal.SIGTERM, before)


def test_a_text_without_words_stays_an_error():
    with pytest.raises(EmptyTextError):
        mase.Explainer(answering(ROWS))(" \n")


@pytest.mark.slow
def test_no_framework_is_loaded_for_a_black_box():
    code = (
        "import sys, mase; mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), n_samples=8)('a b'); "
        "print({'torch', 'transformers', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )


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


def test_exchanged_units_are_whole():
    seen = set()

    def value(texts):
        seen.update(texts)
        return [[2.0 * text.count("good") - text.count("bad")] for text in texts]

    model = Callable(value, outputs="values")
    found = mase.Explainer(model, method="permutation-importance", n_samples=2_000)("it was (good), and bad")
    assert found.scores == pytest.approx([-0.25, -0.25, 2.25, -0.25, -1.5], abs=0.2)
    words = {"it", "was", "(good),", "and", "bad"}
    assert all(set(text.split()) <= words for text in seen)


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


FRAMES_ROWS = [
    {"review": "a good film", "age": 20, "country": "FR"},
    {"review": "a dull film", "age": 60, "country": "DE"},
    {"review": "good good", "age": 35, "country": "DE"},
    {"review": "dull , dull", "age": 41, "country": "FR"},
]


@pytest.fixture(scope="module")
def pipeline():
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = make_column_transformer(
        (CountVectorizer(), "review"), (OneHotEncoder(), ["country"]), ("passthrough", ["age"])
    )
    return make_pipeline(columns, LogisticRegression(C=10, max_iter=5000)).fit(
        pd.DataFrame(FRAMES_ROWS), ["pos", "neg", "pos", "neg"]
    )


def test_a_pipeline_on_columns_gets_a_data_frame_and_its_coefficients_come_back(pipeline):
    record = {"id": "left out", "country": "DE", "review": "a good , dull film", "age": 50}
    assert columns_of(pipeline) == ("review", "age", "country")
    model = adapt(pipeline)
    assert (model.labels, model.package) == (("neg", "pos"), "sklearn")
    import pandas as pd

    assert model.predict(FRAMES_ROWS).tolist() == pipeline.predict_proba(pd.DataFrame(FRAMES_ROWS)).tolist()
    found = mase.Explainer(pipeline, background=BACKGROUND, fixed=["id"], n_samples=64)(record, target="pos")
    weights = dict(zip(pipeline[0].get_feature_names_out(), pipeline[1].coef_[0], strict=True))
    expected = {
        "DE": weights["onehotencoder__country_DE"] - weights["onehotencoder__country_FR"],
        "50": 10 * weights["passthrough__age"],
        **{word: weights[f"countvectorizer__{word}"] for word in ("good", "dull", "film")},
        "a": 0.0,  # the vectorizer leaves out words of one letter
        ",": 0.0,
    }
    assert dict(found.as_list()) == pytest.approx(expected, abs=1e-3)


def test_numbers_stay_numbers_and_masked_ones_are_their_background():
    seen = []

    def function(frame):
        assert frame["age"].dtype.kind in "iuf"
        seen.append(frame)
        return np.full((len(frame), 2), 0.5)

    mase.Explainer(OfFrames(function, ("age", "country")), background=BACKGROUND, n_samples=16)(FRAMES_ROWS[1])
    assert {(age, country) for frame in seen for age, country in frame.itertuples(index=False)} == {
        (age, country) for age in (60, 40) for country in ("DE", "FR")
    }


@pytest.mark.parametrize(("text", "lacking"), [("a good film", "review, age"), ({"review": "good", "age": 1}, "count")])
def test_a_text_without_the_columns_is_refused(pipeline, text, lacking):
    with pytest.raises(InvalidTextError, match=f"add {lacking}"):
        mase.Explainer(pipeline, background={"age": 40} if isinstance(text, dict) else None)(text)


def test_estimators_on_texts_are_left_as_they_are_and_both_can_be_pickled(pipeline):
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    records = make_pipeline(DictVectorizer(), LogisticRegression()).fit(FRAMES_ROWS, ["pos", "neg", "pos", "neg"])
    assert columns_of(records) is None
    assert mase.Explainer(records, background=BACKGROUND)(FRAMES_ROWS[0], target="pos").words == (
        "a",
        "good",
        "film",
        "20",
        "FR",
    )
    again = pickle.loads(pickle.dumps(adapt(pipeline)))
    assert again.predict(FRAMES_ROWS).tolist() == adapt(pipeline).predict(FRAMES_ROWS).tolist()


def test_a_frame_of_one_column_called_text_reads_mappings_and_texts():
    found = OfFrames(lambda frame: frame["text"].str.len().tolist(), ("text",))
    assert found([{"text": "good"}, "good film"]) == [4, 9]
    explainer = mase.Explainer(Callable(found, outputs="values"))
    assert explainer({"text": "good film"}).as_list() == explainer("good film").as_list()


def asked(text, kept, units="wordpunct", **options):
    """Return the string that a black box gets for the words kept."""
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    bound = masker(Callable(record, ["a", "b"], **options), text, units=units)
    seen.clear()
    bound.probabilities(np.array([kept], dtype=bool))
    return seen[0] if seen else text  # the text itself is known


def without(text, *gone, **options):
    words = [text[start:end] for start, end in find_words(text)]
    return asked(text, [word not in gone for word in words], **options)


@pytest.mark.parametrize(
    ("text", "gone", "expected"),
    [
        ("open-source code", ["-"], "open source code"),
        ("open-source code", ["open"], "-source code"),
        ("state-of-the-art", ["-", "the"], "state of art"),
        ("1987/1988", ["/"], "1987 1988"),
        ("snake_case", ["_"], "snake case"),
        ("cafe\u0301-bar", ["-"], "cafe\u0301 bar"),
        ("(good)", ["good"], "()"),
        ("good,fine", [","], "good fine"),
        ("good, fine", [","], "good fine"),
        ("a-b, c", ["-", "b"], "a, c"),
        ("我-你", ["-"], "我你"),
        ("カ・ナ", ["・"], "カナ"),
        ("很好看", ["好"], "很看"),
        ("很x好", ["x"], "很好"),
        ("A good film", ["A"], "good film"),
        ("A good film", ["film"], "A good"),
        ("A good  film", ["film"], "A good"),
        ("A good\tfilm", ["film"], "A good"),
        (" A good film ", ["A", "film"], " good "),
        ("A good film", ["A", "good", "film"], ""),
        (" good ", ["good"], " "),
        ("one  two three", ["two"], "one  three"),
        ("one\n\ntwo three", ["two"], "one\n\nthree"),
        ("one two\n\nthree", ["two"], "one\n\nthree"),
        ("one\ntwo   three", ["two"], "one\nthree"),
    ],
)
def test_words_that_are_taken_out_leave_the_others_as_they_were(text, gone, expected):
    assert without(text, *gone) == expected


def test_no_mask_token_glues_words_either():
    assert without("open-source", "-", mask_token="MASK") == "open MASK source"
    assert without("open-source", "-", mask_token="[M]") == "open[M]source"


@st.composite
def texts_and_kept(draw):
    pieces = st.sampled_from(
        ["open", "x1", "é", "cafe\u0301", "don't", "-", "...", "_", "我", "カ", "👍", "مرحبا", " ", "  ", "\n", "\t "]
    )
    text = "".join(draw(st.lists(st.one_of(pieces, st.text(max_size=3)), min_size=1, max_size=12)))
    text = text.encode("utf-8", "ignore").decode()
    n = len(find_words(text))
    return text, draw(st.lists(st.booleans(), min_size=n, max_size=n))


UNSPACED = r"(HALFWIDTH )?(CJK|IDEOGRAPHIC|HIRAGANA|KATAKANA|THAI|LAO|MYANMAR|KHMER|TAI|NEW TAI|AHOM)\b"


def runs(text):
    """Return the runs of letters and digits, of scripts without spaces one by one; written without `find_words`."""
    found, last = [], False
    for character in text:
        letter = unicodedata.category(character)[0] == "L" or character == "〇"
        single = letter and re.match(UNSPACED, unicodedata.name(character, ""))
        if not character.isalnum():
            joining = last and (unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf") or character == "\xad")
            last = last and joining
            continue
        if single or not last:
            found.append("")
        found[-1] += character
        last = not single
    return found


@settings(max_examples=200, deadline=None)
@given(texts_and_kept())
@pytest.mark.slow
def test_taking_words_out_joins_none_and_adds_no_space(case):
    text, kept = case
    spans = find_words(text)
    if not spans or all(kept):
        return
    words = [text[start:end] for (start, end), keep in zip(spans, kept, strict=True) if keep]
    found = asked(text, kept)
    squeezed = "".join(found.split())
    assert squeezed == "".join("".join(words).split())  # the words that are kept, in their order
    plain = all(unicodedata.category(character)[0] not in "MC" for character in text if not character.isspace())
    if plain:  # marks and joiners that follow no letter are punctuation, and may follow one now
        assert runs(found) == [run for word in words for run in runs(word)]
    gaps = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), len(text))])]
    inner = re.findall(r"(?<=\S)\s+(?=\S)", found)
    assert all(gap in gaps or gap == " " for gap in inner)  # no two spaces that the text did not have
    if words:
        assert found[: len(found) - len(found.lstrip())] == gaps[0]
        assert found[len(found.rstrip()) :] == gaps[-1]


def test_words_in_the_place_of_others_are_not_glued():
    """Permutation importance writes words in other words' places."""
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    mase.Explainer(Callable(record, ["a", "b"]), method="permutation-importance", n_samples=60)("open-source code")
    found = {run for text in seen for run in re.findall(r"\w+", text)}
    assert found == {"open", "source", "code"}


@pytest.mark.parametrize(
    ("text", "units", "out", "removed", "replaced"),
    [
        ("A (dull) start.", "word", 1, "A start.", "A [M] start."),
        ("state-of-the-art", "word", 1, "state-the-art", "state-[M]the-art"),
        ("One. Two words.", "re:Two.*", 0, "One.", "One. [M] [M]"),
        ("这部电影很好。我喜欢。", "re:很好。", 0, "这部电影我喜欢。", "这部电影[M]我喜欢。"),
        ("これは本です。", "re:本", 0, "これはです。", "これは[M]です。"),
        ("หนังดีมาก", "re:ดี", 0, "หนังมาก", "หนัง[M]มาก"),
        ("很好ok吗", "word", 2, "很好吗", "很好[M]吗"),
    ],
)
def test_a_unit_of_several_words_is_out_as_one(text, units, out, removed, replaced):
    n = len(mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), units=units, n_samples=16)(text).units)
    kept = [index != out for index in range(n)]
    assert asked(text, kept, units) == removed
    assert asked(text, kept, units, mask_token="[M]") == replaced


def slowly(rewriter, kept, replacement):
    """Return the texts of rows one by one, word by word."""
    for row in kept:
        words = zip(rewriter.pieces, row, rewriter.continues, strict=True)
        pieces = [piece if keep else None if continues else replacement for piece, keep, continues in words]
        ((own, spans),) = rewriter.words
        yield rewritten(rewriter.document.text, spans, pieces[own])


@pytest.mark.parametrize("replacement", [None, "[MASK]", "x"])
@pytest.mark.parametrize(
    "text", ["open-source, as  ever", "  a b\n\n c, d.e 12 ", "word", "我们 a我\n b", "don't-stop  (now)!"]
)
def test_many_rows_are_rewritten_as_one_by_one(text, replacement):
    tokens = word_tokens(Document.of(text))
    for coordinates in (np.arange(len(tokens.pieces)), np.arange(len(tokens.pieces)) // 2):
        rewriter = Rewriter.of(tokens, coordinates)
        words = np.random.default_rng(0).integers(0, 2, (200, coordinates.max() + 1), dtype=bool)
        words[:2] = [[True], [False]]
        kept = words[:, coordinates]
        assert [one for (one,) in rewriter.masked_rows(kept, replacement)] == [*slowly(rewriter, kept, replacement)]


@pytest.mark.parametrize("floor", [0, -1, 1, 2, "x", None, True])
def test_a_floor_is_a_probability(floor):
    with pytest.raises(OptionError, match="floor is"):
        Callable(bag, floor=floor)


def test_the_floor_that_was_given_is_told_and_recorded():
    model = Callable(lambda texts: [[0.0, 1.0] if "good" in text else [0.3, 0.7] for text in texts], floor=0.01)
    found = mase.Explainer(model, n_samples=60)("a good film that is long")
    (note,) = [one for one in found.notes if one.code == "floored"]
    assert "below 0.01, which was raised to 0.01" in note.message
    assert model.reads() == {"floor": 0.01}
    assert Callable(bag, mask_token="[M]").reads() == {"mask_token": "[M]"}


def test_no_list_is_longer_than_a_batch():
    sizes = []

    def hard(texts):
        sizes.append(len(texts))
        return [[0.0, 1.0] if "good" in text else [1.0, 0.0] for text in texts]

    explainer = mase.Explainer(Callable(hard, ["neg", "pos"]), batch_size=2, n_samples=60)
    explainer.predict_without(explainer("a good film that is not so bad"), [1])
    assert max(sizes) == 2
