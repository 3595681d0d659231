"""Tests of `mase.models.scores`."""

import gc
import json
import re
import sys
import warnings

import numpy as np
import pytest
import torch
import transformers
from scipy import sparse
from tests.unit.models.black_boxes import answering
from tests.unit.models.modules import TEXT, Around, explain
from tests.unit.models.tiny import family

import mase
from mase.document import Document
from mase.errors import MaseError, ModelError, NonFiniteError, OptionError, ShapeError
from mase.models import Callable, HuggingFace, TorchModule, ZeroShot
from mase.models.scores import class_scores, is_linear, is_sigmoid, last_operation, trial_rows, trial_scores
from mase.models.token_ids import TokenIds
from mase.models.tokens import tokenizing
from mase.testing import LogisticClassifier, SmallLSTM, Wrapped, whitespace_ids
from mase.text import Tokens


def linear(x):
    return x @ torch.ones(3, 2)


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        (linear, (True, False)),
        (lambda x: torch.nn.functional.linear(x, torch.ones(2, 3), torch.ones(2)), (True, False)),
        (lambda x: torch.bmm(x[None], torch.ones(1, 3, 2))[0], (True, False)),
        (lambda x: torch.sigmoid(linear(x)), (False, True)),
        (lambda x: torch.softmax(linear(x), dim=1), (False, False)),
    ],
)
def test_the_last_operation_is_seen_through_changes_of_shape(compute, expected):
    scores = compute(torch.ones(4, 3, requires_grad=True))
    shaped = scores.reshape(1, 4, 2).squeeze(0).permute(1, 0).transpose(0, 1)[:, :1].unsqueeze(2).view(-1).double()
    for tensor in (scores, shaped):
        name = last_operation(tensor)
        assert (is_linear(name), is_sigmoid(name)) == expected


def test_a_tensor_without_a_history_has_no_operation():
    assert last_operation(torch.ones(2)) == ""


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


@pytest.mark.slow
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


def torch_module(**options):
    module = torch.nn.Sequential(torch.nn.Embedding(9, 2), torch.nn.Flatten())
    return TorchModule(module, tokenize=lambda text: [1] * len(text.split()), **options)


def token_ids(**options):
    return TokenIds(lambda ids, types: ids, None, name="ids", **options)


def black_box(**options):
    return Callable(lambda texts: [[0.5, 0.5]] * len(texts), **options)


def hugging_face(**options):
    return HuggingFace(*family("bert"), **options)


def zero_shot(**options):
    return ZeroShot(*family("bert"), **options)


@pytest.mark.parametrize("model", [torch_module, token_ids, black_box, zero_shot])
@pytest.mark.parametrize("labels", ["ab", [], ["a", "a"], [1, "1"], np.array([]), 2, {"a", "b"}, {0: "a", 1: "b"}])
def test_labels_are_one_name_per_class(model, labels):
    with pytest.raises(OptionError, match="expected one name per class, all different"):
        model(labels=labels)


def test_labels_may_be_an_array():
    assert black_box(labels=np.array([0, 1])).labels == ("0", "1")


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
@pytest.mark.parametrize("length", [0, "5", 20.5, True, [5]])
def test_the_longest_input_is_an_integer(model, length):
    with pytest.raises(OptionError, match=r"max_length is .*, expected an integer"):
        model(max_length=length)


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
def test_the_longest_input_may_be_that_of_an_array(model):
    model(max_length=np.array([9])[0])


@pytest.mark.parametrize("model", [torch_module, token_ids, hugging_face])
@pytest.mark.parametrize(
    ("options", "message"),
    [({"keep": "middle"}, "keep is 'middle'"), ({"outputs": "numbers"}, "outputs is 'numbers'"),
     ({"outputs": "values", "multilabel": True}, "multilabel is True")],
)  # fmt: skip
def test_what_is_read_and_what_is_returned_are_checked(model, options, message):
    with pytest.raises(OptionError, match=message):
        model(**options)


def tokenized(*, special_ids=(), **ids):
    roles = {name.removesuffix("_id"): one for name, one in ids.items()}
    return tokenizing(lambda text: [1] + [5] * len(text.split()), roles, special_ids)


@pytest.mark.parametrize("of", [np.array, torch.tensor])
def test_ids_of_numpy_and_torch_are_those_of_python(of):
    model = torch_module(pad_id=of(0), unk_id=of(3), special_ids=of([1]))
    ids = {"roles": {"mask": None, "unk": 3, "pad": 0}, "special_ids": [0, 1]}
    assert ids.items() <= json.loads(json.dumps(model.reads())).items()
    tokenizer = tokenized(pad_id=of(0), unk_id=of(3), special_ids=of([1]))
    assert tokenizer.encode(Document.of("a b"), "model").fixed == (True, False, False)


@pytest.mark.parametrize("model", [torch_module, tokenized])
@pytest.mark.parametrize("option", [{"pad_id": "[PAD]"}, {"unk_id": 1.5}, {"special_ids": ["[CLS]", 1]}])
def test_ids_are_integers(model, option):
    with pytest.raises(OptionError, match=next(iter(option))):
        model(**option)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda z: z,
        lambda z: (z, "more"),
        lambda z: [z],
        lambda z: z.to_sparse(),
        lambda z: {"loss": None, "logits": z},
        lambda z: transformers.modeling_outputs.SequenceClassifierOutput(logits=z),
        lambda z: z.softmax(dim=1),
        lambda z: {"probs": z.softmax(dim=1)},
    ],
)
def test_returns_of_two_columns(wrap):
    plain, _ = explain(Wrapped(lambda z: z))
    wrapped, _ = explain(Wrapped(wrap))
    assert wrapped.scores == pytest.approx(plain.scores, abs=1e-6)
    assert wrapped.prediction.probability == pytest.approx(plain.prediction.probability, abs=1e-6)


@pytest.mark.parametrize(
    "wrap", [lambda z: z[:, :1], lambda z: z[:, 0], lambda z: z[:, :1].sigmoid(), lambda z: z[:, 0].sigmoid()]
)
def test_one_column_is_the_second_of_two_classes(wrap):
    found, model = explain(Wrapped(wrap), labels=["no", "yes"])
    assert model.labels == ("no", "yes")
    expected = float(Wrapped(lambda z: z[:, 0]).eval()(torch.tensor([whitespace_ids(TEXT)])).sigmoid().detach())
    assert model.predict([TEXT])[0] == pytest.approx([1 - expected, expected])
    assert found.prediction.probability == pytest.approx(max(expected, 1 - expected), abs=1e-6)


@pytest.mark.parametrize("wrap", [lambda z: z, lambda z: z.sigmoid()])
def test_multilabel_classes_are_separate_questions(wrap):
    found, model = explain(Wrapped(wrap, classes=3), multilabel=True, labels=["a", "b", "c"])
    logits = Wrapped(lambda z: z, classes=3).eval()(torch.tensor([whitespace_ids(TEXT)]))
    assert model.predict([TEXT])[0] == pytest.approx(logits.sigmoid().detach().numpy()[0])
    assert sum(found.prediction.probabilities.values()) != pytest.approx(1)


@pytest.mark.parametrize(
    ("wrap", "error"),
    [
        (lambda z: "nothing", ModelError),
        (lambda z: {"other": z}, ModelError),
        (lambda z: z[:-1], ModelError),
        (lambda z: z[:, None], ModelError),
        (lambda z: 1 / 0, ModelError),
        (lambda z: z * float("nan"), NonFiniteError),
        (lambda z: z + float("inf"), NonFiniteError),
    ],
)
def test_unusable_returns(wrap, error):
    with pytest.raises(error):
        explain(Wrapped(wrap))


@pytest.mark.parametrize(
    "output",
    [
        {"start_logits": torch.zeros(1, 3), "end_logits": torch.zeros(1, 3)},
        torch.zeros(1, 4, 3),
        "words",
    ],
)
def test_models_of_other_tasks_are_told_how_to_be_wrapped(output):
    with pytest.raises(ModelError, match=r"mase\.models\.Callable\(lambda texts"):
        class_scores(output, 1)


@pytest.mark.parametrize("frozen", [False, True])
def test_what_scores_are_is_told_of_frozen_weights_too(frozen):
    """One linear logit that lies in [0, 1] is a logit, whoever is trained."""

    class Small(Around):
        def forward(self, ids):
            inner = torch.tanh(super().forward(ids)[:, :1])
            return torch.nn.functional.linear(inner, torch.tensor([[0.4]]), torch.tensor([0.5]))

    module = Small(in_place=False).requires_grad_(not frozen)
    for context in (torch.enable_grad(), torch.inference_mode()):
        with context:
            model = TorchModule(module, tokenize=whitespace_ids, embedding="words", pad_id=0, labels=["no", "yes"])
            raw = module(torch.tensor([whitespace_ids("one two")])).item()
            assert model.predict(["one two"])[0, 1] == pytest.approx(1 / (1 + np.exp(-raw)), abs=1e-6)


def test_linear_logits_of_separate_questions_stay_logits():
    class Small(Around):
        def forward(self, ids):
            return torch.nn.functional.linear(
                torch.tanh(super().forward(ids)), 0.2 * torch.eye(2), torch.tensor([0.5, 0.4])
            )

    model = TorchModule(Small(in_place=False), tokenize=whitespace_ids, embedding="words", multilabel=True)
    raw = model.module(torch.tensor([whitespace_ids("one two")]))[0]
    assert model.predict(["one two"])[0] == pytest.approx(torch.sigmoid(raw).tolist(), abs=1e-6)


def test_softmax_is_known_where_the_entered_layer_has_no_table():
    """Random ids are those of the table that reads them, and not all padding, whose mean over no word is NaN."""

    class Masked(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(3)
            self.words, self.drop, self.head = torch.nn.Embedding(500, 6), torch.nn.Dropout(0.1), torch.nn.Linear(6, 2)

        def forward(self, ids):
            real = (ids != 0).float()[:, :, None]
            return self.head((self.drop(self.words(ids)) * real).sum(dim=1) / real.sum(dim=1)).softmax(dim=1)

    module = Masked().eval()
    expected = module(torch.tensor([whitespace_ids("one two")]))[0].tolist()
    for name in ("words", "drop"):
        model = TorchModule(module, tokenize=whitespace_ids, embedding=name)
        assert model.predict(["one two"])[0] == pytest.approx(expected, abs=1e-6)


def test_a_module_that_squeezes_its_answer_is_explained():
    class Squeezed(Around):
        def forward(self, ids):
            return torch.sigmoid(super().forward(ids)[:, :1]).squeeze()

    model = TorchModule(Squeezed(in_place=False), tokenize=whitespace_ids, embedding="words")
    assert model.predict(["one two"]).shape == (1, 2)
    assert np.abs(mase.Explainer(model, method="occlusion")("one two three").scores).max() > 0


def test_sigmoid_outputs_are_recognised_as_separate_questions():
    model = TorchModule(Wrapped(lambda z: z.sigmoid(), classes=3), tokenize=whitespace_ids)
    expected = Wrapped(lambda z: z.sigmoid(), classes=3).eval()(torch.tensor([whitespace_ids(TEXT)])).detach().numpy()
    assert model.predict([TEXT]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "wrap", [lambda z: z * 0.1 + 0.5, lambda z: z.sigmoid().clamp(1e-6, 1), lambda z: z.sigmoid().detach()]
)
def test_columns_that_may_be_logits_or_probabilities_are_asked_about(wrap):
    with pytest.raises(OptionError, match="outputs='logits', or outputs='probabilities' and multilabel=True"):
        explain(Wrapped(wrap, classes=3))
    logits = TorchModule(Wrapped(wrap, classes=3), tokenize=whitespace_ids, outputs="logits")
    assert logits.predict([TEXT]).sum() == pytest.approx(1)


def test_columns_of_a_linear_layer_are_logits_also_between_0_and_1():
    small = Wrapped(lambda z: z, classes=3)
    with torch.no_grad():
        small.inner.head.weight.mul_(0.01)
        small.inner.head.bias.fill_(0.5)
    assert TorchModule(small, tokenize=whitespace_ids).predict([TEXT]).sum() == pytest.approx(1)


@pytest.mark.parametrize("shape", [lambda z: z, lambda z: z[:, 0]])
def test_one_column_of_a_linear_layer_is_a_logit_also_between_0_and_1(shape):
    module = Wrapped(lambda z: shape(z), classes=1)
    with torch.no_grad():
        module.inner.head.weight.mul_(0.01)
        module.inner.head.bias.fill_(0.5)
    chance = TorchModule(module, tokenize=whitespace_ids, labels=["no", "yes"]).predict([TEXT])[0, 1]
    logit = module.eval()(torch.tensor([whitespace_ids(TEXT)])).sum()
    assert chance == pytest.approx(float(logit.sigmoid().detach()))


def test_probabilities_that_leave_0_to_1_later_are_refused():
    """What 32 random inputs look like is a guess; the text itself may tell otherwise."""
    model = TorchModule(Wrapped(lambda z: z[:, :1].sigmoid() * (1 if len(z) > 1 else 3)), tokenize=whitespace_ids)
    assert model.labels == ("0", "1")
    with pytest.raises(ModelError, match="expected probabilities in \\[0, 1\\]; pass outputs='logits'"):
        mase.Explainer(model)(TEXT)


def test_class_numbers_are_no_scores():
    with pytest.raises(ModelError, match="no class numbers"):
        explain(Wrapped(lambda z: z.argmax(-1), classes=3))


class OneScore(torch.nn.Module):
    """What `wrap` makes of one number per text."""

    def __init__(self, wrap=lambda z: z):
        super().__init__()
        torch.manual_seed(3)
        self.inner, self.wrap = SmallLSTM(1), wrap

    def forward(self, ids):
        return self.wrap(self.inner(ids))


def test_one_column_of_a_module_is_a_class_only_if_somebody_says_so():
    unnamed = TorchModule(OneScore(), tokenize=whitespace_ids)
    for ask in (mase.Explainer(unnamed), lambda text: unnamed.predict([text]), lambda _: unnamed.labels):
        with pytest.raises(OptionError, match="labels="):
            ask("a good film")
    named = {"labels": ["yes"]}, {"labels": ["no", "yes"]}, {"outputs": "logits"}
    predicted = [
        TorchModule(OneScore(), tokenize=whitespace_ids, **said).predict(["a good film"])[0, 1] for said in named
    ]
    assert predicted == [predicted[0]] * 3
    bounded = TorchModule(OneScore(torch.sigmoid), tokenize=whitespace_ids)
    assert bounded.predict(["a good film"])[0, 1] == pytest.approx(predicted[0])


def tokens(*ids, fixed=(1, 2)):
    marks = tuple(token in fixed for token in ids)
    spans = tuple(None if mark else (index, index + 1) for index, mark in enumerate(marks))
    return Tokens(Document.of("abcdefghij"), ids, tuple(map(str, ids)), spans, marks)


def test_rows_are_varied_between_the_fixed_tokens():
    batches = list(trial_rows(tokens(1, 5, 6, 7, 8, 9, 2)))
    assert [batch.shape for batch in batches] == [(8, 7), (8, 6), (8, 5), (8, 4)]
    for batch in batches:
        assert set(batch[:, 0]) == {1}
        assert set(batch[:, -1]) == {2}
        assert set(batch[:, 1:-1].flat) <= {5, 6, 7, 8, 9}
    means = np.concatenate([batch.mean(axis=1) for batch in batches])
    assert len(set(means.round(9))) > 16  # of the same tokens in other orders there would be one


@pytest.mark.parametrize("ids", [(1, 5, 2), (5,), (1, 2)])
def test_a_short_text_has_rows_too(ids):
    assert [batch.shape for batch in trial_rows(tokens(*ids))] == [(8, len(ids))] * 4


@pytest.mark.parametrize(
    "run",
    [lambda ids, types: ids.astype(float), lambda ids, types: np.zeros((3, 2)), lambda ids, types: np.zeros((8, 0))],
)
def test_scores_are_of_whole_texts(run):
    with pytest.raises(ShapeError, match="one row per text, one column per class"):
        trial_scores(run, tokens(1, 5, 6, 7, 8, 9, 2), "it")


def test_labels_are_valid_unicode():
    with pytest.raises(OptionError, match="no valid Unicode"):
        Callable(lambda texts: [[0.5, 0.5]] * len(texts), ["a\ud83d", "b"])
