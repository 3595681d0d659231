"""Tests of `mase.models.onnx`."""

import contextlib
import os
import pickle

import numpy as np
import pytest
from tests.hostile.texts import READABLE, SILENT

import mase
from mase.errors import (
    CapabilityError,
    DataError,
    EmptyTextError,
    InvalidTextError,
    ModelError,
    NotPicklableError,
    OptionError,
)
from mase.models import limits
from mase.models.origin import dumps
from mase.testing import check_model

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tests.unit.models import onnx_graphs as graphs

from mase.models import OnnxModel

TEXT = "the cast is superb but the plot is dull"
IDS = graphs.ids(TEXT)
ALL = ("input_ids", "attention_mask", "token_type_ids")


def session(**options):
    return onnxruntime.InferenceSession(graphs.graph(**options), providers=["CPUExecutionProvider"])


def onnx_model(unk_id=1, **options):
    return OnnxModel(session(**options), graphs.ids, unk_id=unk_id, labels=["a", "b", "c"])


@pytest.fixture
def words():
    """A tokenizer of tokenizers that knows a few words and surrounds texts as BERT does."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4}
    vocabulary |= {word: 10 + index for index, word in enumerate(dict.fromkeys(TEXT.split()))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", [("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def test_a_session_keeps_the_contract():
    check_model(onnx_model(), TEXT)


def test_every_kind_of_input_is_fed_by_its_name():
    for inputs in (("input_ids",), ALL[:2], ALL, (*ALL, "position_ids")):
        for kind in (TensorProto.INT64, TensorProto.INT32):
            model = onnx_model(inputs=inputs, kind=kind)
            types = [0] * len(IDS) if "token_type_ids" in inputs else None
            expected = graphs.answer(IDS, types, positions="position_ids" in inputs)
            assert model.predict([TEXT])[0] == pytest.approx(graphs.softmax(expected), abs=1e-6)
    assert onnx_model(rename="x").labels == ("a", "b", "c")  # the only input holds ids, whatever its name


@pytest.mark.parametrize("shape", [("batch", 12), (1, "tokens"), (4, 12), (1, 12)])
def test_inputs_of_a_fixed_shape_are_filled_up(shape):
    model = onnx_model(inputs=ALL[:2], shape=shape)
    texts = [TEXT, "good", "the plot is dull", "one two three", "five of them"]
    expected = [graphs.softmax(graphs.answer(graphs.ids(text))) for text in texts]
    assert model.predict(texts) == pytest.approx(np.array(expected), abs=1e-6)
    cut = model.encode("word " * 20).truncation
    assert (cut and cut.n_kept) == (12 if shape[1] == 12 else None)


def test_masked_words_are_replaced_or_deleted(words):
    model = OnnxModel(session(inputs=ALL), words)
    assert model.references == ("mask", "unk", "pad", "delete")
    ids = model.encode(TEXT).ids
    for reference, token in (("mask", 4), ("unk", 1), ("pad", 0), ("delete", None)):
        found = mase.Explainer(model, reference=reference, method="occlusion", link="logit")(TEXT, target=0)
        for word in (0, 3):
            masked = [*ids[: word + 1], *([] if token is None else [token]), *ids[word + 2 :]]
            fall = graphs.answer(ids, [0] * len(ids))[0] - graphs.answer(masked, [0] * len(masked))[0]
            assert found.scores[word] == pytest.approx(fall, abs=1e-5)


def test_pairs_have_the_types_of_the_tokenizer(words):
    model = OnnxModel(session(inputs=ALL), words)
    pair = ("the plot is dull", "the cast is superb")
    encoded = words.encode(*pair)
    expected = graphs.softmax(graphs.answer(encoded.ids, encoded.type_ids))
    assert sum(encoded.type_ids) == 5
    assert model.predict([pair])[0] == pytest.approx(expected, abs=1e-6)
    for reference in ("mask", "delete"):
        found = mase.Explainer(model, reference=reference, n_samples=64)(pair)
        assert [(unit.field, unit.text) for unit in found.units][3:5] == [("text", "dull"), ("text_pair", "the")]
    fixed = mase.Explainer(model, n_samples=64, fixed=["text"])(pair)
    assert {unit.field for unit in fixed.units} == {"text_pair"}
    with pytest.raises(InvalidTextError, match="fields a, b, c"):
        model.encode({"a": "x", "b": "y", "c": "z"})


def test_one_of_several_outputs_has_the_scores():
    nodes = [helper.make_node("Gather", ["words", "input_ids"], ["vectors"])]
    nodes += [helper.make_node("ReduceSum", ["vectors", "axis1"], ["one"], keepdims=0)]
    nodes += [helper.make_node("Neg", ["one"], ["two"]), helper.make_node("Identity", ["input_ids"], ["echo"])]
    nodes += [helper.make_node("ReduceSum", ["one", "axis1"], ["column"], keepdims=0)]
    constants = [numpy_helper.from_array(graphs.WORDS, "words"), numpy_helper.from_array(np.array([1]), "axis1")]

    def opened(shapes, **options):
        content = graphs.model(nodes, ["input_ids"], shapes, constants, integers=["echo"])
        made = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        return OnnxModel(made, graphs.ids, unk_id=1, outputs="logits", **options)

    vectors, rows = ("batch", "tokens", 4), ("batch", 4)
    only = opened({"vectors": vectors, "two": rows})
    both = {"vectors": vectors, "one": rows, "two": rows}
    one, two = (opened(both, output=name) for name in ("one", "two"))
    texts = ["a b c", "a"]
    np.testing.assert_allclose(only.predict(texts), two.predict(texts))
    np.testing.assert_allclose(np.log(one.predict(texts)).argmax(axis=1), two.predict(texts).argmin(axis=1))
    assert [model.reads().get("output") for model in (one, two, opened({"two": rows}))] == ["one", "two", None]
    with pytest.raises(OptionError, match=r"vectors tensor\(float\) .* several may be the scores .* output="):
        opened(both)
    with pytest.raises(OptionError, match="several may be the scores"):
        opened({"column": ("batch",), "two": rows})
    assert len(opened({"echo": ("batch", "tokens"), "two": rows}).labels) == 4
    assert len(opened({"vectors": vectors, "column": ("batch",)}).labels) == 2
    with pytest.raises(OptionError, match="output is 'echo'"):
        opened({"echo": ("batch", "tokens"), "two": rows}, output="echo")
    with pytest.raises(OptionError, match="output is 'three', expected an output of small with floats, of: vectors"):
        opened(both, output="three")


def test_outputs_are_recognised():
    assert onnx_model(output="logits").output.kind == "logits"
    assert onnx_model(output="y").output.kind == "logits"
    assert onnx_model(output="y", last="Softmax").output.kind == "probabilities"
    separate = OnnxModel(session(output="y", last="Sigmoid"), graphs.ids, unk_id=1)
    assert (separate.output.kind, separate.output.multilabel) == ("probabilities", True)
    assert separate.labels == ("0", "1", "2")
    with pytest.raises(OptionError, match="outputs='logits'"):
        _ = onnx_model(output="y", last="HardSigmoid").output
    with pytest.raises(OptionError, match="one column"):
        _ = OnnxModel(session(output="y", columns=1), graphs.ids, unk_id=1).labels
    value = OnnxModel(session(columns=1), graphs.ids, unk_id=1, outputs="values")
    assert mase.Explainer(value, n_samples=64)(TEXT).prediction.values["value"] == pytest.approx(graphs.answer(IDS)[0])


def one_column(*last, words=None):
    """Return a session with one column: the mean of numbers of words, and the operations after it."""
    names = [f"y{index}" for index in range(len(last) + 1)]
    nodes = [helper.make_node("Gather", ["words", "ids"], ["found"])]
    nodes += [helper.make_node("ReduceMean", ["found", "axis"], [names[0]], keepdims=0)]
    nodes += [helper.make_node(kind, [a], [b]) for kind, a, b in zip(last, names, names[1:], strict=False)]
    numbers = np.full((40, 1), 0.4, dtype=np.float32) if words is None else words
    constants = [onnx.numpy_helper.from_array(numbers, "words"), onnx.numpy_helper.from_array(np.array([1]), "axis")]
    return onnxruntime.InferenceSession(graphs.model(nodes, ["ids"], names[-1], constants))


def test_one_column_in_0_to_1_is_a_probability_only_after_a_sigmoid():
    """The mean of word scores reads no order, so that the values alone may be one number for all trial rows."""
    options = {"unk_id": 1, "labels": ["no", "yes"]}
    with pytest.raises(OptionError, match=r"operation ReduceMean.*outputs='probabilities' or outputs='logits'"):
        _ = OnnxModel(one_column(), graphs.ids, **options).output
    logit = OnnxModel(one_column(), graphs.ids, outputs="logits", **options)
    sigmoid = OnnxModel(one_column("Sigmoid", "Identity"), graphs.ids, **options)
    for model in (logit, sigmoid):
        assert model.predict([TEXT])[0, 1] == pytest.approx(1 / (1 + np.exp(-0.4)))
    wide = np.linspace(-1, 2, 40, dtype=np.float32)[:, None]
    assert OnnxModel(one_column(words=wide), graphs.ids, **options).output.kind == "logits"


def test_messages_about_the_answer_name_this_class():
    bare = {"unk_id": 1, "outputs": "probabilities"}
    with pytest.raises(ModelError, match=r"pass OnnxModel\(\.\.\., outputs='logits'"):
        OnnxModel(session(), graphs.ids, **bare).predict([TEXT])
    with pytest.raises(ModelError, match=r"pass OnnxModel\(\.\.\., multilabel=True\)"):
        OnnxModel(session(output="y", last="Sigmoid"), graphs.ids, **bare).predict([TEXT])


def test_the_longest_input_is_that_of_a_tokenizer_of_transformers(words):
    transformers = pytest.importorskip("transformers")
    for limit, expected in ((6, 6), (10**30, 22)):
        fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=limit)
        assert len(OnnxModel(session(inputs=ALL), fast).encode("film " * 20)) == expected
        assert len(OnnxModel(session(inputs=ALL), fast, max_length=9).encode("film " * 20)) == 9
    assert mase.Explainer(session(inputs=ALL), fast, n_samples=16)(TEXT).words == tuple(TEXT.split())
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=6, truncation_side="left")
    assert OnnxModel(session(inputs=ALL), fast).encode("film " * 20).truncation.kept == "end"
    assert OnnxModel(session(inputs=ALL), fast, keep="start").encode("film " * 20).truncation.kept == "start"


def test_a_text_that_is_too_long_for_a_session_says_what_to_pass():
    """The graph has 99 positions."""
    model = onnx_model(inputs=("input_ids", "position_ids"))
    with pytest.raises(ModelError, match=r"fewer than 120 tokens, pass OnnxModel\(\.\.\., max_length=\.\.\.\)"):
        model.predict(["film " * 120])


@pytest.mark.slow
def test_awkward_texts(words):
    model = OnnxModel(session(inputs=ALL), words, max_length=64)
    explainer = mase.Explainer(model, n_samples=8)
    texts = list(READABLE.values())
    rows = [model.encode(text).ids for text in texts]
    expected = [graphs.softmax(graphs.answer(row, [0] * len(row))) for row in rows]
    assert model.predict(texts) == pytest.approx(np.array(expected), abs=1e-5)
    for text in (text for text in texts if len(text) < 60):
        found = explainer(text)
        assert list(found.prediction.probabilities.values()) == pytest.approx(expected[texts.index(text)], abs=1e-5)
        assert all(text[unit.start : unit.end] == unit.text for unit in found.units)
    for label in ("empty", "spaces", "lone surrogate"):
        with pytest.raises((EmptyTextError, InvalidTextError)):
            explainer(SILENT[label])


def test_a_file_is_opened_again_in_another_process(tmp_path, words):
    path = tmp_path / "small.onnx"
    path.write_bytes(graphs.graph(inputs=ALL))
    model = OnnxModel(path, words, labels=["a", "b", "c"])
    again = pickle.loads(dumps(mase.Explainer(model, n_samples=64)))
    assert again(TEXT) == mase.Explainer(model, n_samples=64)(TEXT)
    assert (again.model.name, again.model.sha256) == ("small.onnx", model.sha256)
    path.write_bytes(graphs.graph(inputs=ALL, last="Softmax"))
    with pytest.raises(DataError, match="sha256"):
        pickle.loads(dumps(model))
    with pytest.raises(NotPicklableError, match="path"):
        dumps(onnx_model())


def test_weights_beside_a_file_belong_to_its_checksum(tmp_path):
    inside, outside = tmp_path / "models", tmp_path / "secret.bin"
    inside.mkdir()
    (inside / "small.onnx").write_bytes(graphs.whole())
    sums = []
    for weights in (graphs.WORDS, 2 * graphs.WORDS):
        (inside / "weights.bin").write_bytes(weights.tobytes())
        model = OnnxModel(inside / "small.onnx", graphs.ids, unk_id=1)
        assert model.scores([((3, 5), None)]) == pytest.approx(weights[[3, 5]].sum(axis=0)[None])
        sums.append(model.sha256)
    assert sums[0] != sums[1]
    outside.write_bytes(graphs.WORDS.tobytes())
    (inside / "link.bin").symlink_to(outside)
    for location in ("../secret.bin", str(outside), "link.bin"):
        (inside / "small.onnx").write_bytes(graphs.whole(location=location))
        with pytest.raises(DataError, match="cannot open"):
            OnnxModel(inside / "small.onnx", graphs.ids, unk_id=1)


def test_other_files_beside_a_file_do_not_belong_to_its_checksum(tmp_path):
    """Their names may be in the graph by chance, or be no text at all."""
    path = tmp_path / "small.onnx"
    path.write_bytes(graphs.whole(location="weights.bin"))
    (tmp_path / "weights.bin").write_bytes(graphs.WORDS.tobytes())
    before = OnnxModel(path, graphs.ids, unk_id=1).sha256
    for name in ("words", "a", os.fsdecode(b"\xff.bin")):
        with contextlib.suppress(OSError, UnicodeError):  # not all systems have such names
            (tmp_path / name).write_bytes(b"other")
    assert OnnxModel(path, graphs.ids, unk_id=1).sha256 == before


@pytest.mark.parametrize("location", ["below/weights.bin", "ä.bin", f"{'long' * 40}.bin"])
def test_weights_are_found_where_the_graph_says_that_they_are(tmp_path, location):
    path = tmp_path / "small.onnx"
    path.write_bytes(graphs.whole(location=location))
    (tmp_path / location).parent.mkdir(exist_ok=True)
    sums = []
    for weights in (graphs.WORDS, 2 * graphs.WORDS):
        (tmp_path / location).write_bytes(weights.tobytes())
        model = OnnxModel(path, graphs.ids, unk_id=1)
        assert model.scores([((3, 5), None)]) == pytest.approx(weights[[3, 5]].sum(axis=0)[None])
        sums.append(model.sha256)
    assert sums[0] != sums[1]


def test_a_location_that_is_no_path_is_no_file(tmp_path):
    path, known = tmp_path / "small.onnx", onnx.load_model_from_string(graphs.graph())
    for number, place in enumerate(("x" * 5_000, "a\0b", "", ".")):
        known.metadata_props.add(key="location", value=place)
        path.write_bytes(known.SerializeToString())
        assert len(OnnxModel(path, graphs.ids, unk_id=1).sha256) == 64, number


def test_files_that_are_no_models(tmp_path, monkeypatch):
    path = tmp_path / "small.onnx"
    operator = helper.make_node("Foo", ["input_ids"], ["logits"], domain="my.operators")
    for content in (b"", b"garbage", graphs.model([operator], ["input_ids"], "logits", domains=["my.operators"])):
        path.write_bytes(content)
        with pytest.raises(DataError, match="cannot open"):
            OnnxModel(path, graphs.ids, unk_id=1)
    with pytest.raises(DataError, match="does not exist"):
        OnnxModel(tmp_path / "none.onnx", graphs.ids, unk_id=1)
    path.write_bytes(graphs.graph())
    monkeypatch.setattr(limits, "ONNX_BYTES", 100)
    with pytest.raises(DataError, match="more than 100 bytes"):
        OnnxModel(path, graphs.ids, unk_id=1)


def test_sessions_that_cannot_be_explained():
    identity = graphs.model([helper.make_node("Identity", ["x"], ["y"])], ["x"], "y", kind=TensorProto.FLOAT)
    with pytest.raises(CapabilityError, match="inputs x"):
        OnnxModel(onnxruntime.InferenceSession(identity), graphs.ids, unk_id=1)
    with pytest.raises(CapabilityError, match="past"):
        OnnxModel(onnxruntime.InferenceSession(graphs.graph(inputs=("input_ids", "past"))), graphs.ids, unk_id=1)
    with pytest.raises(ModelError, match="from 10 to 99"):
        OnnxModel(session(), lambda text: [10, *[99] * len(text.split()[1:])], unk_id=1).predict(["a b c"])
    with pytest.raises(OptionError, match="tokenizer"):
        mase.Explainer(session())
    with pytest.raises(OptionError, match="unk_id"):
        mase.Explainer(OnnxModel(session(), graphs.ids))
    with pytest.raises(CapabilityError, match="embedding"):
        mase.Explainer(onnx_model(), method="gradient-x-input")


def test_a_session_with_its_tokenizer_is_a_model(words):
    found = mase.Explainer(session(inputs=ALL), words, n_samples=64)(TEXT)
    assert found.model == {"name": "small", "sha256": None}
    assert found.words == tuple(TEXT.split())
