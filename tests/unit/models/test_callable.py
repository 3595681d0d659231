"""Tests of `mase.models.callable`."""

import pickle
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from tests.unit.models.black_boxes import answering
from tests.unit.models.modules import TEXT

import mase
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, ModelError, OptionError, ShapeError
from mase.metrics.evaluator import Evaluator
from mase.models import Callable
from mase.testing import LogisticClassifier

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
    assert asked.fit.n_queries < 20


def test_black_box_columns_must_be_as_many_as_its_labels():
    for wrong in (Callable(lambda texts: [[0.2, 0.3, 0.5]] * len(texts), labels=["spam"]),
                  Callable(lambda texts: [0.8] * len(texts), multilabel=True)):  # fmt: skip
        with pytest.raises(ShapeError, match="expected"):
            mase.Explainer(wrong, n_samples=40)("one two three")


def test_black_box_is_asked_each_text_once():
    seen = []

    def watch(texts):
        seen.extend(texts)
        return bag(texts)

    found = mase.Explainer(Callable(watch), n_samples=500)("good film")
    assert {*seen} == {"good film", "good", "film", ""}
    assert len(seen) <= 4 + 2  # two once more, to compare
    assert found.scores[0] > found.scores[1]


@pytest.mark.parametrize("method", ["mase-gradient", "mase-paper", "mase-path", "standard-gaussian"])
def test_methods_that_a_black_box_cannot_serve(method):
    with pytest.raises(CapabilityError, match=r"use 'mase'$|use method='mase'"):
        mase.Explainer(Callable(bag), method=method)


def test_taking_words_out_needs_zeros_and_ones(lstm_model):
    for wrong in ({"design": "iid"}, {"estimator": "mean-gradient"}):
        with pytest.raises(OptionError, match="zeros and ones"):
            mase.Explainer(lstm_model, method="mase-mask", **wrong)(TEXT)


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


def test_no_framework_is_loaded_for_a_black_box():
    code = (
        "import sys, mase; mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), n_samples=8)('a b'); "
        "print({'torch', 'transformers', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "set()"
    )
