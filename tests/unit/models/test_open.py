"""Tests of `mase.models.open`."""

import os
import sys

import numpy as np
import pytest
import torch
import transformers
from click.testing import CliRunner
from sklearn.dummy import DummyClassifier
from tests.unit.models.language.causal_models import byte_tokenizer, causal_model
from tests.unit.models.tiny import family

import mase
from mase.cli import main
from mase.errors import CapabilityError, DataError, MaseError, OptionError, UnknownNameError
from mase.models import HuggingFace, ZeroShot, adapt, bundled, load
from mase.models.language.open import language_model
from mase.testing import SmallLSTM, check_model, whitespace_ids


def test_a_name_as_long_as_a_text_is_no_model():
    with pytest.raises(UnknownNameError, match="unknown model"):
        load("x" * 300)


def test_a_module_without_tokenizer_or_of_no_kind():
    with pytest.raises(OptionError, match="TorchModule"):
        mase.Explainer(SmallLSTM())
    with pytest.raises(OptionError, match=r"a name, folder or URL, .* a function from texts"):
        mase.Explainer(3.5)


@pytest.mark.slow
def test_a_compiled_module_is_the_one_inside():
    module, tokenizer = family("bert")
    found = adapt(torch.compile(module, backend="eager"), tokenizer)
    assert isinstance(found, HuggingFace)
    assert (found.module, found.name) == (module, adapt(module, tokenizer).name)
    assert HuggingFace(torch.compile(module, backend="eager"), tokenizer).name == found.name
    module = causal_model()
    assert language_model(torch.compile(module, backend="eager"), byte_tokenizer()).module is module


TEXTS = ["one", "two"]


ROWS = [[0.25, 0.75], [0.5, 0.5]]


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


NAMES = [
    "x\0y",
    "x\0/y",
    "/",
    "a" * 5_000,
    "a/" + "b" * 5_000,
    "../../..",
    "",
    "a b/c",
    "--x/y",
    "owner/name/more",
    "\ud800/x",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none_are_typed_errors(name):
    for loading in (load, HuggingFace, bundled.load, bundled.load_adapted):
        with pytest.raises((DataError, UnknownNameError)):
            loading(name)
    with pytest.raises(MaseError):
        mase.Explainer(name)


def test_files_and_pipes_are_no_models(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("{}")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("pipe", "file", "loop"):
        with pytest.raises(DataError, match="is a file"):
            load(tmp_path / name)
        found = CliRunner().invoke(main, ["models", str(tmp_path / name)])
        assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)


@pytest.mark.parametrize("missing", [(), ("torch", "transformers")])
def test_a_file_of_another_tool_says_how_to_pass_its_model(missing, tmp_path, monkeypatch):
    for package in missing:
        monkeypatch.setitem(sys.modules, package, None)
    for name in ("pipeline.joblib", "model.keras", "weights.pt"):
        (tmp_path / name).write_bytes(b"PK")
        with pytest.raises(DataError, match=r"is a file, expected .* FILE\.py:NAME"):
            mase.Explainer(str(tmp_path / name))


def estimator():
    return DummyClassifier(strategy="prior").fit([[0], [1]], ["a", "b"])


MODELS = {
    "a model that is loaded by its name": "lstm-imdb",
    "a model of mase.models": mase.models.Callable(lambda texts: ROWS[: len(texts)]),
    "an estimator": estimator(),
    "a function": lambda texts: ROWS[: len(texts)],
}


@pytest.mark.parametrize("what", MODELS)
def test_a_tokenizer_beside_what_reads_texts_is_an_error(what):
    with pytest.raises(OptionError, match=f"tokenizer is of type str beside {what}, .* leave the tokenizer out"):
        mase.Explainer(MODELS[what], "not a tokenizer")


def test_a_module_has_the_name_that_is_given():
    for module, tokenizer in ((SmallLSTM(), whitespace_ids), family("bert")):
        assert adapt(module, tokenizer, name="code.py:module").name == "code.py:module"


INPUTS = ["w1 w2 w3", "w4", {"text": "w1 w2", "text_pair": "w3"}, {"text_pair": "w3 w1", "text": "w2"}]


def pipeline(task="text-classification", *, settings=None, kind="bert", **options):
    module, tokenizer = family(kind, **settings or {})
    return transformers.pipeline(task, model=module, tokenizer=tokenizer, **options)


def answers(pipe, inputs):
    """Return the scores `(n, k)` of a pipeline in the order of the configuration."""
    names = pipe.model.config.id2label.values()
    found = [{one["label"]: one["score"] for one in pipe(given, top_k=None)} for given in inputs]
    return np.array([[scores[name] for name in names] for scores in found])


@pytest.mark.parametrize("kind", ["bert", "xlnet", "bart"])
@pytest.mark.parametrize("function", [None, "softmax", "sigmoid", "none"])
def test_predictions_are_those_of_the_pipeline(kind, function):
    pipe = pipeline(kind=kind, function_to_apply=function)
    model = adapt(pipe)
    assert isinstance(model, HuggingFace)
    assert model.labels == tuple(pipe.model.config.id2label.values())
    assert model.predict(INPUTS) == pytest.approx(answers(pipe, INPUTS), abs=1e-5)
    assert model.returns_values == (function == "none")


@pytest.mark.parametrize(
    ("settings", "function"),
    [
        ({"num_labels": 2, "problem_type": "multi_label_classification"}, None),
        ({"num_labels": 2, "problem_type": "multi_label_classification"}, "softmax"),
        ({"num_labels": 2, "problem_type": "regression"}, None),
        ({"num_labels": 1, "problem_type": "regression"}, None),
        ({"num_labels": 1, "problem_type": "regression"}, "sigmoid"),
        ({"num_labels": 1}, None),
        ({"num_labels": 1}, "none"),
    ],
)
def test_what_a_pipeline_applies_depends_on_the_configuration(settings, function):
    pipe = pipeline(settings=settings, function_to_apply=function)
    model = adapt(pipe)
    expected = answers(pipe, INPUTS)
    assert model.predict(INPUTS)[:, -expected.shape[1] :] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("longest", [6, 9, None])
def test_texts_are_cut_as_the_pipeline_cuts_them(side, longest):
    pipe = pipeline(truncation=True, max_length=longest, padding="max_length" if longest else False)
    pipe.tokenizer.truncation_side = side
    inputs = [" ".join(f"w{i % 7}" for i in range(40)), ("w1 w2 " * 20, "w3 w4 w5 " * 5), ("w6", "w3 w4 w5 " * 15)]
    theirs = [dict(zip(("text", "text_pair"), one, strict=True)) if isinstance(one, tuple) else one for one in inputs]
    model = adapt(pipe)
    assert model.predict(inputs) == pytest.approx(answers(pipe, theirs), abs=1e-5)
    assert all(model.encode(one).truncation.n_kept == (longest or 30) for one in inputs)


@pytest.mark.parametrize("truncation", [None, False, "do_not_truncate"])
@pytest.mark.parametrize("padding", [False, True, "max_length"])
@pytest.mark.filterwarnings("ignore:`max_length` is ignored")
def test_a_length_alone_cuts_texts_as_in_transformers(truncation, padding):
    pipe, text = pipeline(truncation=truncation, padding=padding, max_length=6), "w1 w2 w3 w4 w5 w6 w7 w8"
    model = adapt(pipe)
    assert model.predict([text]) == pytest.approx(answers(pipe, [text]), abs=1e-5)
    assert len(model.encode(text)) == (6 if truncation is None and not padding else 10)


def test_a_pipeline_is_explained_word_by_word():
    pipe = pipeline()
    check_model(adapt(pipe), "w1 w2 w3")
    found = mase.Explainer(pipe)({"text": "w1 w2", "text_pair": "w3"})
    assert [(unit.field, unit.text) for unit in found.units] == [("text", "w1"), ("text", "w2"), ("text_pair", "w3")]
    plain = mase.Explainer(pipe.model, pipe.tokenizer)(("w1 w2", "w3"))
    assert found.scores.tolist() == plain.scores.tolist()
    best = pipe({"text": "w1 w2", "text_pair": "w3"})
    assert (found.prediction.label, found.prediction.probability) == (best["label"], pytest.approx(best["score"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add_special_tokens": False}, "passes add_special_tokens=False"),
        ({"truncation": "only_second"}, "passes truncation='only_second'"),
        ({"settings": {"num_labels": 1}, "function_to_apply": "softmax"}, "softmax to one label"),
    ],
)
def test_what_cannot_be_followed_is_an_error(options, message):
    with pytest.raises(OptionError, match=message):
        adapt(pipeline(**options))


def test_a_tokenizer_beside_a_pipeline_is_an_error():
    pipe = pipeline()
    with pytest.raises(OptionError, match="leave the tokenizer out"):
        mase.Explainer(pipe, pipe.tokenizer)


def test_a_pipeline_for_something_else_says_what_to_use():
    module, tokenizer = family("bert")
    pipe = transformers.pipeline("token-classification", model=module, tokenizer=tokenizer)
    with pytest.raises(CapabilityError, match=r"TokenClassificationPipeline .* text-classification or zero-shot"):
        mase.Explainer(pipe)


NLI = {"id2label": {0: "contradiction", 1: "neutral", 2: "entailment"}}


NLI |= {"label2id": {name: index for index, name in NLI["id2label"].items()}}


@pytest.mark.parametrize("multi_label", [False, True])
def test_zero_shot_pipelines_have_their_labels(multi_label):
    options = {"candidate_labels": "w4, w5 w6,w7", "hypothesis_template": "w8 {} w9", "multi_label": multi_label}
    pipe = pipeline("zero-shot-classification", settings=NLI, **options)
    model, answer = adapt(pipe), pipe("w1 w2 w3")
    assert isinstance(model, ZeroShot)
    assert model.labels == ("w4", "w5 w6", "w7")
    scores = dict(zip(answer["labels"], answer["scores"], strict=True))
    assert model.predict(["w1 w2 w3"])[0] == pytest.approx([scores[name] for name in model.labels], abs=1e-5)


def test_zero_shot_without_labels_says_what_to_do():
    with pytest.raises(OptionError, match=r"candidate_labels=\[\.\.\.\]"):
        adapt(pipeline("zero-shot-classification", settings=NLI))


@pytest.mark.parametrize("name", [5, b"m"])
def test_a_name_that_no_file_can_hold_is_refused(name):
    with pytest.raises(OptionError, match="expected a str that is not empty"):
        mase.Explainer(mase.models.Callable(lambda texts: [[0.5, 0.5] for _ in texts], name=name))
