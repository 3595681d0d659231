"""Tests of `mase.models.adapters.pipeline`: the predictions are those of the pipeline itself."""

import numpy as np
import pytest
import transformers
from tests.unit.models.tiny import family

import mase
from mase.errors import CapabilityError, OptionError
from mase.models import HuggingFace, ZeroShot, adapt
from mase.testing import check_model

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
