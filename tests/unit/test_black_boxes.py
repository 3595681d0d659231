"""Black boxes: what they may answer, what they are asked, and which inputs are no texts."""

import pickle
import re
import subprocess
import sys
import threading
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.conftest import SmallLSTM, whitespace_ids

import mase
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    ModelError,
    NonFiniteError,
    OptionError,
    ShapeError,
)
from mase.metrics.evaluator import Evaluator
from mase.metrics.masking import masker
from mase.models import Callable, HuggingFace, TorchModule, adapt
from mase.text import find_words

TEXTS = ["one", "two"]
ROWS = [[0.25, 0.75], [0.5, 0.5]]


def answering(answer, labels=None, **options):
    """A black box that gives the same answer to whatever it is asked."""
    return Callable(lambda texts: answer, labels, name="box", **options)


# --- answers --------------------------------------------------------------------------------------------------------


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
        (ROWS[:1], ShapeError, ["(1, 2)", "(2, k)"]),
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


@pytest.mark.parametrize("options", [{"labels": []}, {"labels": ["a", "a"]}, {"mask_token": ""}, {"outputs": "scores"}])
def test_options_of_no_use(options):
    with pytest.raises(OptionError):
        answering(ROWS, **options)


# --- one column that may be no class --------------------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def tokenizer():
    """Words "w0" to "w9" and what every tokenizer has."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(10))]
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    return transformers.PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=30, **special)


SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
PLAIN = {"vocab_size": 15, "pad_token_id": 0}


def classifier(config):
    torch.manual_seed(0)
    return transformers.AutoModelForSequenceClassification.from_config(config).eval()


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ({}, None),
        ({"problem_type": "multi_label_classification"}, ("not LABEL_0", "LABEL_0")),
        ({"id2label": {0: "toxic"}}, ("not toxic", "toxic")),
    ],
)
def test_one_label_of_a_transformer_is_a_class_only_if_its_configuration_says_so(tokenizer, said, labels):
    module = classifier(transformers.BertConfig(**SIZES, **PLAIN, **({"num_labels": 1} | said)))
    if labels is None:
        with pytest.raises(OptionError, match="LABEL_0"):
            HuggingFace(module, tokenizer)
        return
    model = HuggingFace(module, tokenizer)
    assert model.labels == labels
    assert model.predict(["w1 w2"]).sum() == pytest.approx(1)


# --- what a black box is asked --------------------------------------------------------------------------------------


def asked(text, kept, **options):
    """Return the string that a black box gets for the words kept."""
    seen = []

    def record(texts):
        seen.extend(texts)
        return [[0.5, 0.5]] * len(texts)

    bound = masker(Callable(record, ["a", "b"], **options), text)
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


def runs(text):
    """Return the runs of letters and digits, ideographs and kana one by one; written without `find_words`."""
    found, last = [], False
    for character in text:
        single = re.match("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]", character)
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


# --- inputs that are no texts ---------------------------------------------------------------------------------------


class Table:
    """As of pandas: iterating gives the names of the columns."""

    shape = (2, 2)

    def __iter__(self):
        return iter(["text", "label"])


NO_TEXTS = [
    ("a premise", "a hypothesis"), {"premise": "a", "hypothesis": "b"}, {"a", "b"}, frozenset({"a"}), b"a film",
    bytearray(b"a"), memoryview(b"a"), 3, 2.5, None, object(), Table(), np.array("a film"), np.array([["a", "b"]]),
    [("a", "b")], [{"a": "b"}], [["a", "b"]], [b"a"], [None], [3],
]  # fmt: skip


@pytest.mark.parametrize("given_", NO_TEXTS, ids=lambda given_: type(given_).__name__)
def test_what_is_no_text_is_refused(given_, lstm_model):
    for model in (answering([[0.5, 0.5]]), lstm_model):
        explainer = mase.Explainer(model, n_samples=16)
        for ask in (explainer, lambda texts, it=explainer: list(it.stream(texts)), model.predict):
            if ask == model.predict and isinstance(given_, tuple):
                continue  # it takes nothing but several texts, so that a tuple cannot be meant otherwise
            with pytest.raises(InvalidTextError, match="str"):
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


def test_pairs_that_come_one_by_one_are_refused():
    explainer = mase.Explainer(answering([[0.5, 0.5]]), n_samples=16)
    for pairs in (zip("ab", "cd", strict=True), {"a": "b"}.items(), enumerate("ab")):
        with pytest.raises(InvalidTextError):
            explainer(pairs)


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


# --- threads --------------------------------------------------------------------------------------------------------


def test_threads_take_turns_with_a_black_box():
    inside, most = [], []
    buffer = np.empty((300, 2))  # which the function fills for every answer

    def predict(texts):
        inside.append(threading.get_ident())
        most.append(len(inside))
        time.sleep(0.001)
        chance = np.array([len(text) / 100 for text in texts])
        buffer[: len(texts)] = np.stack([chance, 1 - chance], axis=1)
        inside.pop()
        return buffer[: len(texts)]

    model = Callable(predict, ["long", "short"])
    explainer, texts = mase.Explainer(model, n_samples=40), ["a film", "one two three", "good, fine", "so it goes"] * 4
    alone = [explainer(text).scores.tolist() for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: explainer(text).scores.tolist(), texts))
    assert max(most) == 1
    assert together == alone


def test_a_black_box_may_ask_itself_and_two_do_not_wait_for_each_other():
    def doubting(texts):
        return [[0.5, 0.5]] * len(texts) if texts == ["?"] else model.predict(["?"]).repeat(len(texts), axis=0)

    model = Callable(doubting, ["no", "yes"])
    assert model.predict(TEXTS).shape == (2, 2)
    meeting = threading.Barrier(2, timeout=30)

    def met(texts):
        meeting.wait()
        return [[0.5, 0.5]] * len(texts)

    with ThreadPoolExecutor(2) as pool:
        assert (
            len(list(pool.map(lambda one: one.predict(["a"]), [Callable(met, ["a", "b"]), Callable(met, ["a", "b"])])))
            == 2
        )


def halves(texts):
    return [[0.5, 0.5]] * len(texts)


def test_a_black_box_that_was_asked_can_still_be_pickled():
    model = Callable(halves, ["a", "b"])
    model.predict(["one"])
    assert pickle.loads(pickle.dumps(model)).predict(["one"]).tolist() == [[0.5, 0.5]]


# --- modules that cannot be entered ---------------------------------------------------------------------------------


def encoder_decoder(**more):
    heads = {f"{side}_attention_heads": 2 for side in ("encoder", "decoder")}
    layers = {f"{side}_layers": 1 for side in ("encoder", "decoder")} | {
        f"{side}_ffn_dim": 16 for side in ("encoder", "decoder")
    }
    return {"d_model": 16, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2} | heads | layers | more


REFUSED = {
    "xlnet": lambda: transformers.XLNetConfig(d_model=16, n_layer=1, n_head=2, d_inner=16, **PLAIN),
    "longformer": lambda: transformers.LongformerConfig(
        **SIZES, **PLAIN, max_position_embeddings=66, attention_window=4
    ),
    "t5": lambda: transformers.T5Config(
        d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, eos_token_id=3, decoder_start_token_id=0, **PLAIN
    ),
    "bart": lambda: transformers.BartConfig(
        **encoder_decoder(max_position_embeddings=64, forced_eos_token_id=3), **PLAIN
    ),
}


@pytest.mark.parametrize("family", REFUSED)
def test_transformers_that_cannot_be_entered_say_what_to_do(family, tokenizer):
    """Time first, padded to a window, and words embedded twice."""
    module = classifier(REFUSED[family]())
    with pytest.raises(CapabilityError, match=r"mase\.models\.Callable"):
        mase.Explainer(module, tokenizer)("w1 w2 w3")
    through = Callable(lambda texts: torch.tensor([[0.5, 0.5]] * len(texts)), ["a", "b"])
    assert len(mase.Explainer(through, n_samples=8)("w1 w2 w3").words) == 3


def test_language_models_are_no_classifiers(tokenizer):
    torch.manual_seed(0)
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, n_positions=30, vocab_size=15)
    with pytest.raises(ModelError, match="language model"):
        mase.Explainer(transformers.AutoModelForCausalLM.from_config(config).eval(), tokenizer)("w1 w2")


class TimeFirst(SmallLSTM):
    """Reads ids (b, t) and works with (t, b, d)."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(16, 24)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids.T))[0][-1])


@pytest.mark.parametrize("text", ["one", "one two", "one two three"])
@pytest.mark.parametrize("method", ["mase", "occlusion", "mase-nlgp"])
@pytest.mark.parametrize("roles", [{}, {"mask_id": 2}])
def test_a_module_that_is_time_first_is_refused_at_every_length(text, method, roles):
    """With as many rows as tokens the shapes of (b, t) and (t, b) are one."""
    model = TorchModule(TimeFirst(), tokenize=whitespace_ids, labels=["no", "yes"], **roles)
    with pytest.raises(CapabilityError, match="time first"):
        mase.Explainer(model, method=method, n_samples=20)(text)


@pytest.mark.parametrize(("text", "n_rows"), [("one", 2), ("one two", 3), ("one two three", 2)])
def test_rows_that_tell_batch_from_time_are_counted(text, n_rows, small_lstm):
    """The text, the mask token in all places and, where these are as many as the tokens, the text again."""
    seen = []
    model = TorchModule(small_lstm, tokenize=whitespace_ids, labels=["no", "yes"], mask_id=2)
    model.predict([text])
    with small_lstm.words.register_forward_pre_hook(lambda _module, args: seen.append(len(args[0]))):
        found = mase.Explainer(model, method="occlusion")(text)
    assert seen[0] == n_rows
    assert found.fit.n_queries == n_rows + len(text.split()) + 1  # the text once more, to compare


# --- estimators -----------------------------------------------------------------------------------------------------

LEARNT = (
    ["a good film", "a dull film", "good", "dull , dull", "a law", "the law"],
    ["pos", "neg", "pos", "neg", "law", "law"],
)


def pipeline(last, answers=LEARNT[1]):
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), last).fit(LEARNT[0], answers)


def test_a_pipeline_is_a_model_with_its_classes():
    from sklearn.linear_model import LogisticRegression

    fitted = pipeline(LogisticRegression())
    model = adapt(fitted)
    assert model.labels == ("law", "neg", "pos")
    assert model.predict(LEARNT[0]).tolist() == fitted.predict_proba(LEARNT[0]).tolist()
    found = mase.Explainer(fitted, n_samples=100)("a good film , no law")
    assert found.target in ("pos", "law")
    assert found.model["name"] == "Pipeline"
    assert mase.Explainer(fitted, n_samples=100)("a good film", target="pos").top(1)[0].text == "good"
    assert adapt(pipeline(LogisticRegression(), [0, 1, 0, 1, 2, 2])).labels == ("0", "1", "2")
    assert Evaluator(fitted, methods=["occlusion"])("a good film").target == 2


def test_estimators_that_cannot_be_explained_say_what_to_do():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    with pytest.raises(CapabilityError, match=r"CalibratedClassifierCV.*mase\.models\.Callable"):
        mase.Explainer(pipeline(LinearSVC()))
    with pytest.raises(CapabilityError, match="predict_proba"):
        adapt(pipeline(LinearRegression(), range(6)))
    with pytest.raises(OptionError, match="fitted"):
        adapt(make_pipeline(CountVectorizer(), LogisticRegression()))
    with pytest.raises(OptionError, match="several questions"):
        adapt(pipeline(RandomForestClassifier(2), [["a", "x"], ["b", "y"]] * 3))
    with pytest.raises(OptionError, match="LogisticRegression"):
        adapt(LogisticRegression)


@pytest.mark.parametrize("outputs", ["probabilities", "logits"])
def test_a_decision_function_is_no_probability(outputs):
    """Even where all of its distances happen to lie between 0 and 1."""
    from sklearn.svm import LinearSVC

    fitted = pipeline(LinearSVC(), [0, 1, 0, 1, 1, 1])
    if outputs == "probabilities":
        with pytest.raises(OptionError, match="outputs='logits'"):
            Callable(fitted.decision_function, ["no", "yes"])
        with pytest.raises(OptionError, match="predict_proba"):
            mase.Explainer(fitted.decision_function)
    else:
        model = Callable(fitted.decision_function, ["no", "yes"], outputs="logits")
        assert model.predict(["dull"])[0, 1] == pytest.approx(1 / (1 + np.exp(-fitted.decision_function(["dull"])[0])))


def test_predictions_of_an_estimator_are_no_probabilities():
    from sklearn.linear_model import LogisticRegression

    for answers in (LEARNT[1], [0, 1, 0, 1, 2, 2], [True, False] * 3):
        with pytest.raises(ModelError, match="predict_proba"):
            mase.Explainer(pipeline(LogisticRegression(), answers).predict)("a good film")


def test_an_object_that_can_be_called_is_a_function_unless_it_has_classes():
    class Judge:
        def __call__(self, texts):
            return ROWS[: len(texts)]

        def fit(self, texts):
            return self

        def predict(self, texts):
            return ["pos"] * len(texts)

    assert adapt(Judge(), name="judge.py:it").predict(TEXTS).tolist() == ROWS
    assert adapt(Judge(), name="judge.py:it").name == "judge.py:it"


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
