"""Tests of `mase.models.expected_output`."""

import gc
import re
import sys
import warnings

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.unit.models.black_boxes import answering

import mase
from mase.errors import MaseError, ModelError, NonFiniteError, OptionError, ShapeError
from mase.models import Callable
from mase.testing import LogisticClassifier

bag = LogisticClassifier({"good": 2.0, "bad": -2.0})


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lambda n: np.ones((n, 2)), ModelError),
        (lambda n: np.full((n, 2), 3.0), ModelError),
        (lambda n: np.ones((n + 1, 2)) / 2, ShapeError),
        (lambda n: np.full((n, 2), np.nan), NonFiniteError),
        (lambda n: 1 / 0, ModelError),
        (lambda n: "text", ModelError),
    ],
)
def test_unusable_black_boxes(answer, error):
    with pytest.raises(error):
        mase.Explainer(Callable(lambda texts: answer(len(texts))), n_samples=40)("one two three")


@pytest.mark.parametrize("row", [[0.34, 0.34, 0.33], [0.33, 0.33, 0.33], [0.26, 0.26, 0.25, 0.25], [0.14] * 7])
def test_probabilities_with_two_decimals_need_not_sum_to_one(row):
    model = Callable(lambda texts: [row] * len(texts))
    assert model.predict(["one two"])[0].tolist() == row
    single = Callable(lambda texts: np.float32([row] * len(texts)))
    assert single.predict(["one two"])[0] == pytest.approx(row)


@pytest.mark.parametrize("row", [[0.34, 0.34, 0.34], [0.345, 0.34, 0.327], [0.3, 0.3, 0.3], [0.505, 0.51]])
def test_probabilities_that_rounding_does_not_explain_are_refused(row):
    model = Callable(lambda texts: [row] * len(texts))
    with pytest.raises(ModelError, match="expected 1"):
        model.predict(["one two"])


def test_what_a_black_box_raises_or_returns_is_told():
    def touchy(texts):
        if not all(text.strip() for text in texts):
            raise ValueError("empty")
        return bag(texts)

    with pytest.raises(ModelError, match=r"raised ValueError: empty .* had all words masked; pass mask_token="):
        mase.Explainer(Callable(touchy), n_samples=60)("good film")
    with pytest.raises(ModelError, match=r"ask for all classes, not the best \(top_k=None\)"):
        Callable(lambda texts: [{"label": "good", "score": 0.9}] * len(texts)).predict(["good film"])


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: [[float("nan")] * 2 if not text.strip() else [0.5, 0.5] for text in texts],
        lambda texts: [None if not text.strip() else [0.5, 0.5] for text in texts],
        lambda texts: [[0.5, 0.5] for text in texts if text.strip()],
        lambda texts: [[len(text.split()[0]) / 100, 1 - len(text.split()[0]) / 100] for text in texts],
        lambda texts: [[0.5, 0.5] if re.search(r"\S", text).end() else [0.1, 0.9] for text in texts],
    ],
)
def test_a_function_that_cannot_read_a_text_without_words_is_told_of_mask_tokens(function):
    with pytest.raises(MaseError, match=r"1 of the \d texts had all words masked; pass mask_token="):
        mase.Explainer(Callable(function), n_samples=60)("good film")
    mase.Explainer(Callable(function, mask_token="..."), n_samples=60)("good film")


def test_other_shapes_of_functions_say_how_to_wrap_them():
    async def awaited(texts):
        return bag(texts)

    def of_one(text):
        return [0.5, 0.5] if "good" in text.lower() else [0.1, 0.9]

    for function, remedy in (
        (awaited, r"asyncio\.run"),
        (of_one, r"pass lambda texts: .* if f reads one text"),
    ):
        with pytest.raises(ModelError, match=remedy):
            mase.Explainer(function)("good film")


TEXTS = ["one", "two"]


ROWS = [[0.25, 0.75], [0.5, 0.5]]


class Frame:
    """What pandas and polars have in common: `__array__`."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


@pytest.mark.parametrize(
    "answer",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        np.array(ROWS),
        np.array(ROWS, dtype=np.float16),
        np.array(ROWS, dtype=object),
        np.asfortranarray(ROWS),
        np.ma.array(ROWS),
        [np.array(row) for row in ROWS],
        [np.ma.array(row) for row in ROWS],
        [[np.float32(x) for x in row] for row in ROWS],
        torch.tensor(ROWS),
        torch.tensor(ROWS, requires_grad=True),
        torch.tensor(ROWS, dtype=torch.bfloat16),
        torch.tensor(ROWS, dtype=torch.float16),
        torch.tensor(ROWS).to_sparse(),
        [torch.tensor(row, requires_grad=True) for row in ROWS],
        [[torch.tensor(x, dtype=torch.bfloat16) for x in row] for row in ROWS],
        sparse.csr_matrix(ROWS),
        sparse.coo_array(ROWS),
        Frame(ROWS),
        Frame(np.array(ROWS, dtype=object)),
        [[0.25, 0.75], [np.float32(0.5), torch.tensor(0.5)]],
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_answers_of_many_types_are_read_alike(answer):
    assert answering(answer).predict(TEXTS).tolist() == ROWS


@pytest.mark.parametrize("answer", [[0.75, 0.5], [[0.75], [0.5]], torch.tensor([0.75, 0.5]), np.array([[0.75], [0.5]])])
def test_one_column_of_probabilities_is_the_second_class(answer):
    for labels in (None, ["yes"], ["no", "yes"]):
        assert answering(answer, labels).predict(TEXTS).tolist() == ROWS


@pytest.mark.parametrize(
    "answer", [[[0, 1], [1, 0]], np.eye(2, dtype=bool), np.eye(2, dtype=np.int8), sparse.eye(2, dtype=int)]
)
def test_whole_numbers_in_several_columns_are_probabilities(answer):
    assert answering(answer).predict(TEXTS).sum(axis=1).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("answer", "error", "told"),
    [
        (np.array(ROWS) + 0j, ModelError, ["ndarray", "complex128", "(2, 2)", "row 0"]),
        ([[0.25, 0.75], [0.5 + 0j, 0.5]], ModelError, ["complex128", "row 1"]),
        (torch.tensor(ROWS) + 0j, ModelError, ["Tensor", "complex", "(2, 2)"]),
        (np.ma.array(ROWS, mask=[[0, 0], [0, 1]]), ModelError, ["MaskedArray", "masked", "row 1"]),
        ([np.ma.array(ROWS[0]), np.ma.array(ROWS[1], mask=[1, 0])], ModelError, ["masked", "row 1"]),
        ([ROWS[0], [np.ma.masked, 0.5]], ModelError, ["masked", "row 1"]),
        (["0.75", "0.5"], ModelError, ["str", "(2,)", "'0.75'"]),
        ([["0.25", "0.75"]] * 2, ModelError, ["(2, 2)", "'0.25'"]),
        ([[0.25, 0.75], [0.5, "0.5"]], ModelError, ["row 1", "'0.5'"]),
        (["pos", "neg"], ModelError, ["'pos'"]),
        (None, ModelError, ["None"]),
        ([ROWS[0], None], ModelError, ["row 1", "None"]),
        ([[0.25, 0.75], [0.5, None]], ModelError, ["(2, 2)", "row 1", "None"]),
        ([{"label": "pos"}] * 2, ModelError, ["list of dict", "row 0"]),
        ({"pos": 0.5}, ModelError, ["dict"]),
        ((row for row in ROWS), ModelError, ["generator"]),
        ([[0.25, 0.75], [1.0]], ModelError, ["row 1", "[1.0]"]),
        ([0.5, [0.5, 0.5]], ModelError, ["row 1"]),
        ([1, 0], ModelError, ["int", "(2,)", "row 0", "predict_proba"]),
        ([[3], [45]], ModelError, ["int", "(2, 1)", "row 0", "predict_proba"]),
        (np.array([True, False]), ModelError, ["bool", "(2,)", "predict_proba"]),
        (torch.tensor([1, 0]), ModelError, ["Tensor", "int64", "predict_proba"]),
        (np.array(["2020", "2021"], dtype="M8[Y]"), ModelError, ["datetime64"]),
        ([*ROWS, *ROWS], ShapeError, ["(4, 2)", "(2, k)"]),
        ([], ShapeError, ["(0,)"]),
        (0.5, ShapeError, ["float", "()"]),
        (np.zeros((2, 0)), ShapeError, ["(2, 0)"]),
        (np.zeros((2, 2, 1)), ShapeError, ["(2, 2, 1)"]),
        ([[0.25, 0.75], [float("nan"), 1]], NonFiniteError, ["(2, 2)", "row 1", "'two'", "nan"]),
        ([[0.25, 0.75], [-0.5, 1.5]], ModelError, ["(2, 2)", "row 1", "'two'", "-0.5"]),
        ([0.25, -3.5], ModelError, ["row 1", "'two'", "-3.5", "labels="]),
        ([[0.25, 0.75], [0.25, 0.25]], ModelError, ["row 1", "'two'", "0.5", "multilabel=True"]),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*masked element:UserWarning")
def test_answers_that_are_no_class_scores_are_refused(answer, error, told):
    with pytest.raises(error) as raised:
        answering(answer).predict(TEXTS)
    assert "box" in str(raised.value)
    assert [part for part in told if part not in str(raised.value)] == []


def test_an_async_function_is_refused_once():
    """Python would warn, too, that nobody awaited it."""

    async def predict(texts):
        return [[0.5, 0.5] for _ in texts]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ModelError, match="async function"):
            Callable(predict).predict(TEXTS)
        gc.collect()
    assert caught == []


@pytest.mark.parametrize("answer", [[1, 0], [True, False], [[0], [1]]])
def test_class_numbers_are_refused_whatever_is_said_of_them(answer):
    for options in ({"labels": ["yes"]}, {"labels": ["no", "yes"]}, {"labels": ["yes"], "outputs": "logits"}):
        with pytest.raises(ModelError):
            answering(answer, **options).predict(TEXTS)


def test_infinite_logits():
    assert answering([[-np.inf, 0.0], [0.0, 0.0]], outputs="logits").predict(TEXTS).tolist() == [[0, 1], [0.5, 0.5]]
    with pytest.raises(NonFiniteError, match="row 1"):
        answering([[0.0, 0.0], [np.inf, 0.0]], outputs="logits").predict(TEXTS)


def test_what_a_black_box_raises_is_one_line():
    def exits(texts):
        sys.exit("no\nmodel")

    def fails(texts):
        raise ValueError("several\n  lines")

    for function in (exits, fails):
        with pytest.raises(ModelError) as raised:
            Callable(function).predict(TEXTS)
        assert "\n" not in str(raised.value)


def test_no_texts_have_no_predictions():
    assert answering([[0.25, 0.5, 0.25]]).predict([]).shape == (0, 3)
    assert Callable(lambda texts: 1 / 0, ["no", "yes"]).predict([]).shape == (0, 2)


@pytest.mark.parametrize(
    "options", [{"labels": []}, {"labels": ["a", "a"]}, {"mask_token": ""}, {"outputs": "margins"}]
)
def test_options_of_no_use(options):
    with pytest.raises(OptionError):
        answering(ROWS, **options)


def likelihoods(texts):
    """The log-likelihood of a text: the longer, the lower."""
    return [-2.0 * len(text) for text in texts]


def test_a_column_of_likelihoods_is_no_class():
    with pytest.raises(OptionError, match="labels="):
        mase.Explainer(Callable(likelihoods, outputs="logits"))("a good film")
    with pytest.raises(OptionError, match="labels="):
        Callable(likelihoods, outputs="logits").labels  # noqa: B018
    assert Callable(likelihoods, ["odd"], outputs="logits").predict(["ab"])[0, 1] == pytest.approx(1 / (1 + np.exp(4)))
    assert Callable(likelihoods, ["usual", "odd"], outputs="logits").labels == ("usual", "odd")
    with pytest.raises(ShapeError):
        Callable(likelihoods, ["a", "b", "c"], outputs="logits").predict(TEXTS)


@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_one_name_is_of_one_column(outputs):
    model = Callable(lambda texts: [[0.9, 0.1]] * len(texts), labels=["toxic"], outputs=outputs)
    with pytest.raises(ShapeError, match=r"shape \(1, 2\), expected \(1, 1\)"):
        model.predict(["one"])
    one = Callable(lambda texts: [[0.9]] * len(texts), labels=["toxic"], outputs=outputs)
    assert (one.labels, one.predict(["one"]).shape) == (("not toxic", "toxic"), (1, 2))


@pytest.mark.parametrize("answer", [[{"reply": "good"}], ["good"]])
def test_who_returns_values_is_not_told_of_classes(answer):
    with pytest.raises(ModelError, match="one per value") as raised:
        Callable(lambda texts: answer * len(texts), outputs="values").predict(TEXTS)
    assert not re.search("per class|proba", str(raised.value))
