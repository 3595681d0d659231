"""Tests of `mase.models.description`: what the columns of a classifier of transformers are."""

import numpy as np
import pytest
import torch
from tests.unit.models.tiny import family

import mase
from mase.errors import OptionError, ShapeError
from mase.models import HuggingFace

PAIR = ("w1 w2", "w3 w4")
NAMED = {"num_labels": 2, "id2label": {0: "warmth", 1: "length"}}


def logits(module, tokenizer, texts=PAIR):
    with torch.no_grad():
        return module(**tokenizer(*texts, return_tensors="pt")).logits[0].double().numpy()


@pytest.mark.parametrize(
    ("settings", "outputs", "labels"),
    [
        ({"num_labels": 1, "problem_type": "regression"}, "auto", ("value",)),
        ({"num_labels": 1}, "values", ("value",)),
        ({"num_labels": 1, "id2label": {0: "similarity"}}, "values", ("similarity",)),
        (NAMED | {"problem_type": "regression"}, "auto", ("warmth", "length")),
    ],
)
def test_the_score_of_a_pair_is_explained_as_it_is(settings, outputs, labels):
    """As for the similarity of two sentences (STS-B)."""
    module, tokenizer = family("bert", **settings)
    model = HuggingFace(module, tokenizer, outputs=outputs)
    assert model.labels == labels
    assert model.predict([PAIR])[0] == pytest.approx(logits(module, tokenizer), abs=1e-5)
    found = mase.Explainer(model, method="occlusion")(PAIR, target=labels[0])
    without = logits(module, tokenizer, ("w1 [MASK]", "w3 w4"))
    assert found.response == pytest.approx(logits(module, tokenizer)[0], abs=1e-5)
    assert found.scores[1] == pytest.approx(logits(module, tokenizer)[0] - without[0], abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "options", "expected"),
    [
        ({"num_labels": 2}, {}, lambda z: np.exp(z) / np.exp(z).sum()),
        ({"num_labels": 2}, {"multilabel": True}, lambda z: 1 / (1 + np.exp(-z))),
        ({"num_labels": 2, "problem_type": "multi_label_classification"}, {}, lambda z: 1 / (1 + np.exp(-z))),
        (
            {"num_labels": 2, "problem_type": "multi_label_classification"},
            {"multilabel": False},
            lambda z: np.exp(z) / np.exp(z).sum(),
        ),
        ({"num_labels": 1}, {"outputs": "logits"}, lambda z: 1 / (1 + np.exp([z[0], -z[0]]))),
        (
            {"num_labels": 1, "problem_type": "regression"},
            {"outputs": "logits"},
            lambda z: 1 / (1 + np.exp([z[0], -z[0]])),
        ),
    ],
)
def test_what_the_configuration_says_can_be_overridden(settings, options, expected):
    module, tokenizer = family("bert", **settings)
    model = HuggingFace(module, tokenizer, **options)
    assert model.predict([PAIR])[0] == pytest.approx(expected(logits(module, tokenizer)), abs=1e-5)


def test_numbers_of_classes_may_be_strings_in_any_order():
    module, tokenizer = family("bert", num_labels=2)
    module.config.id2label = {"1": "pos", "0": "neg"}
    assert HuggingFace(module, tokenizer).labels == ("neg", "pos")


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({1: "a", 2: "b"}, "the keys 1, 2, expected 0 to 1"),
        ({0: "a", 2: "b"}, "the keys 0, 2, expected 0 to 1"),
        ({"a": 0, "b": 1}, "the keys a, b, expected 0 to 1"),
        ({"0": "a", 0: "b"}, "the keys 0, 0, expected 0 to 1"),
        (None, "config.id2label is None"),
        ({}, "config.id2label is {}"),
    ],
)
def test_classes_that_are_not_numbered_from_0_are_an_error(named, message):
    module, tokenizer = family("bert", num_labels=2)
    module.config.id2label = named
    with pytest.raises(OptionError, match=message):
        HuggingFace(module, tokenizer)


def test_a_folder_with_other_numbers_is_an_error(tmp_path):
    module, tokenizer = family("bert", id2label={1: "a", 2: "b"}, num_labels=2)
    for one in (module, tokenizer):
        one.save_pretrained(tmp_path)
    with pytest.raises(OptionError, match=r"config\.id2label has the keys 1, 2"):
        mase.models.load(tmp_path)


def test_a_head_of_another_size_than_the_configuration_says_so():
    module, tokenizer = family("bert", num_labels=2)
    module.classifier = torch.nn.Linear(16, 5)
    model = HuggingFace(module, tokenizer)
    for ask in (mase.Explainer(model), lambda text: model.predict([text])):
        with pytest.raises(ShapeError, match=r"\(1, 5\), expected \(1, 2\), because config.num_labels is 2"):
            ask("w1 w2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one label, LABEL_0, .*outputs='values'"),
        ({"outputs": "probabilities"}, "outputs is 'probabilities'"),
        ({"outputs": "values", "multilabel": True}, "multilabel is True"),
    ],
)
def test_what_may_not_be_a_class_is_asked_for(options, message):
    with pytest.raises(OptionError, match=message):
        HuggingFace(*family("bert", num_labels=1), **options)


@pytest.mark.parametrize(("k", "options"), [(3, {"multilabel": True}), (1, {})])
def test_scores_are_those_of_several_classes(k, options):
    with pytest.raises(OptionError, match=r"outputs is 'scores' with .*, expected several classes"):
        HuggingFace(*family("bert", num_labels=k), outputs="scores", **options)


def test_a_problem_that_there_is_not_is_an_error():
    module, tokenizer = family("bert", num_labels=2)
    module.config.problem_type = "multilabel_classification"
    with pytest.raises(OptionError, match="problem_type is 'multilabel_classification', expected one of"):
        HuggingFace(module, tokenizer)
