"""Tests of `mase.models.zero_shot`, against the pipeline of transformers and the model itself."""

import pickle

import numpy as np
import pytest
import torch
import transformers
from tests.unit.models.tiny import family

import mase
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, OptionError
from mase.models import ZeroShot
from mase.testing import check_model

NLI = {"id2label": {0: "contradiction", 1: "neutral", 2: "entailment"}}
NLI |= {"label2id": {name: index for index, name in NLI["id2label"].items()}}
LABELS, TEMPLATE = ("w4", "w5 w6 w0", "w7"), "w8 {}"


@pytest.fixture(scope="module", params=["bert", "bart"])
def parts(request):
    return family(request.param, **NLI)


def zero_shot(parts, labels=LABELS, **options):
    return ZeroShot(*parts, labels=labels, template=TEMPLATE, **options)


def entailments(parts, text, labels=LABELS):
    """Return the logits `(k, c)` of the model itself for a text and each label."""
    module, tokenizer = parts
    with torch.no_grad():
        pairs = [tokenizer(text, TEMPLATE.format(label), return_tensors="pt") for label in labels]
        return np.concatenate([module(**pair).logits.double().numpy() for pair in pairs])


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("labels", [LABELS, ("w4",), ("w4", "w5")])
@pytest.mark.parametrize("text", ["w1 w2 w3", "w1", "w1 w2 w3 " * 20])
def test_predictions_are_those_of_the_pipeline(parts, labels, multilabel, text):
    module, tokenizer = parts
    pipe = transformers.pipeline("zero-shot-classification", model=module, tokenizer=tokenizer)
    theirs = pipe(text, list(labels), hypothesis_template=TEMPLATE, multi_label=multilabel)
    expected = dict(zip(theirs["labels"], theirs["scores"], strict=True))
    found = zero_shot(parts, labels, multilabel=multilabel).predict([text])[0]
    assert found[-len(labels) :] == pytest.approx([expected[label] for label in labels], abs=1e-5)


@pytest.mark.slow
def test_a_masked_word_is_masked_before_every_label(parts):
    """Occlusion of the margin, against the model itself on texts with the mask token."""
    words = ["w1", "w2", "w3"]
    found = mase.Explainer(zero_shot(parts), method="occlusion", link="margin")(" ".join(words), target="w7")

    def margin(text):
        entailed = entailments(parts, text)[:, 2]
        return entailed[2] - entailed[:2].max()

    without = [margin(" ".join("[MASK]" if word == out else word for word in words)) for out in words]
    assert found.scores == pytest.approx(margin(" ".join(words)) - np.array(without), abs=1e-4)
    assert found.words == tuple(words)


def test_separate_labels_weigh_entailment_against_contradiction(parts):
    explainer = mase.Explainer(zero_shot(parts, multilabel=True), method="occlusion", link="margin")
    found = explainer("w1 w2", target="w4")
    whole, rest = (entailments(parts, text)[0] for text in ("w1 w2", "[MASK] w2"))
    assert found.scores[0] == pytest.approx((whole[2] - whole[0]) - (rest[2] - rest[0]), abs=1e-4)


@pytest.mark.parametrize(
    ("options", "text"),
    [({}, "  w1\n"), ({"multilabel": True}, "w1 [SEP] \U0001f600 w2"), ({"labels": ("w4",)}, "w1 w2 " * 40)],
)
@pytest.mark.slow
def test_the_contract_of_models_is_kept(parts, options, text):
    check_model(zero_shot(parts, **options), text)


@pytest.mark.parametrize("method", ["mase", "mase-nlgp", "kernel-shap", "permutation-importance", "smoothgrad"])
def test_methods_without_gradients_explain_it(parts, method):
    explainer = mase.Explainer(zero_shot(parts), method=method, n_samples=40)
    if method == "smoothgrad":
        with pytest.raises(CapabilityError, match="gradient"):
            explainer("w1 w2")
    else:
        assert np.abs(explainer("w1 w2").scores).min() > 0


@pytest.mark.parametrize("keep", ["start", "end"])
def test_words_that_are_cut_off_before_some_label_only_are_told_apart(parts, keep):
    """The longest label leaves the least room; with it the outermost words are not read."""
    from mase.models import HuggingFace

    model = zero_shot([HuggingFace(*parts, max_length=10, keep=keep)])
    tokens = model.encode("w1 w2 w3 w4 w5 w6 w7 w8 w9")
    room = 10 - parts[1].num_special_tokens_to_add(pair=True) - len(["w8", "w4"])
    expected = range(1, room + 1) if keep == "start" else range(10 - room, 10)
    assert tokens.pieces == tuple(f"w{i}" for i in expected)
    assert (tokens.truncation.n_kept, tokens.truncation.n_total) == (room, 9)
    probe = model.bind(
        mase.models.Binding.of(tokens, mase.methods.resolve("mase-mask", reference="mask").space, range(room))
    )
    outermost = room - 1 if keep == "start" else 0
    without = probe.scores(np.array([np.arange(room) != outermost]).astype(float), np.arange(1)) - probe.start
    assert abs(without[0, 0]) > 1e-4
    assert without[0, 1] == pytest.approx(0, abs=1e-6)


def test_it_says_what_it_was_taken_for(parts):
    found = zero_shot(parts).description
    assert found.kind == f"zero-shot classifier {type(parts[0]).__name__}"
    assert (found.labels_from, found.device) == ("labels", "cpu")


def test_labels_and_template_belong_to_the_checksum(parts):
    sums = {
        zero_shot(parts).sha256,
        zero_shot(parts, multilabel=True).sha256,
        zero_shot(parts, LABELS[:2]).sha256,
        ZeroShot(*parts, labels=LABELS).sha256,
    }
    assert len(sums) == 4


def test_other_braces_of_a_template_are_text(parts):
    found = ZeroShot(*parts, labels=LABELS, template="w8 {} {w1 {0}").predict(["w1 w2"])
    assert found.shape == (1, len(LABELS))


def test_another_process_gets_the_same_model(parts):
    model = zero_shot(parts)
    again = pickle.loads(pickle.dumps(model))
    assert again.sha256 == model.sha256
    assert again.predict(["w1 w2"]).tolist() == model.predict(["w1 w2"]).tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": "w4"}, "labels is 'w4'"),
        ({"labels": []}, r"labels is \[\]"),
        ({"labels": ["w4", "w4"]}, "all different"),
        ({"labels": ["w4"], "template": "w8"}, "template is 'w8'"),
        ({"labels": ["w4"], "template": "w8 {label}"}, "template is 'w8 {label}', expected one with {}"),
        ({"labels": ["w4"], "template": "w8 {"}, "template is 'w8 {'"),
    ],
)
def test_questions_that_cannot_be_asked_are_errors(parts, options, message):
    with pytest.raises(OptionError, match=message):
        ZeroShot(*parts, **options)


def test_a_model_of_something_else_is_an_error():
    with pytest.raises(OptionError, match="expected one called entailment"):
        ZeroShot(*family("bert"), labels=["w4"])


def test_pairs_and_texts_without_words_are_errors(parts):
    explainer = mase.Explainer(zero_shot(parts))
    with pytest.raises(InvalidTextError, match="text, text_pair"):
        explainer(("w1", "w2"))
    with pytest.raises(EmptyTextError):
        explainer(" ")
