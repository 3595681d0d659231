"""Tests of `mase.explainer` on several classes at once, and on one class rather than another."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import mase
from mase.attribution import Note
from mase.errors import OptionError
from mase.io.json import dumps, loads
from mase.metrics.evaluator import Evaluator
from mase.models import Callable, TorchModule
from mase.testing import SmallLSTM, whitespace_ids

TEXT = "slow and dull , yet beautiful in places"
WORTH = {"dull": (2.0, -1.0, 0.5), "beautiful": (-1.5, 3.0, 0.0), "slow": (0.5, 0.0, -0.5)}


def logits(texts):
    """Three logits per text, each additive in its words."""
    return [[sum(WORTH[word][k] for word in WORTH if word in text.split()) for k in range(3)] for text in texts]


def classifier(labels=("bad", "good", "odd"), **options):
    return Callable(logits, labels, outputs="logits", **options)


def test_a_zoom_into_labels_that_are_numbers_takes_none_as_an_index():
    words, numbers = (
        mase.Explainer(classifier(labels), n_samples=100, zoom=1, units="sentence", evidence=0)
        for labels in (["bad", "good", "odd"], ["1", "2", "0"])
    )
    expected = words(TEXT, target=["bad", "odd"], against="good").zoomed
    found = numbers(TEXT, target=[1, 0], against=2).zoomed
    assert [response.name for response in found.responses] == ["1", "0"]
    assert found.scores == pytest.approx(expected.scores)
    assert found.of("0").scores == pytest.approx(expected.of("odd").scores)


def test_an_evaluation_of_labels_that_are_numbers_explains_the_predicted_class():
    found, expected = (
        Evaluator(classifier(labels), methods=["occlusion"], metrics=["deletion"])(TEXT)
        for labels in (["1", "2", "0"], ["bad", "good", "odd"])
    )
    assert found.by_method["occlusion"].values == pytest.approx(expected.by_method["occlusion"].values)


@pytest.mark.parametrize(
    "method", ["mase-mask", "kernel-shap", "lime", "occlusion", "permutation-importance", "partition-shap", "random"]
)
def test_all_classes_equal_separate_explanations_of_the_same_rows_at_the_cost_of_one(method):
    explainer = mase.Explainer(classifier(), method=method, link="margin", n_samples=100, evidence=0)
    together = explainer(TEXT, target="all")
    assert [response.name for response in together.responses] == ["good", "bad", "odd"]  # the most probable first
    for name in ("bad", "good", "odd"):
        alone, found = explainer(TEXT, target=name), together.of(name)
        assert found.scores == pytest.approx(alone.scores, abs=1e-10)
        assert found.standard_errors == pytest.approx(alone.standard_errors, abs=1e-10, nan_ok=True)
        assert found.order.tolist() == alone.order.tolist()
        assert (found.response, found.r2) == (pytest.approx(alone.response), pytest.approx(alone.r2))
        assert found.fit.split_half == pytest.approx(alone.fit.split_half)
        assert found.r2_held_out == pytest.approx(alone.r2_held_out)
        assert (found.r2_held_out is None) == (method not in ("mase-mask", "kernel-shap", "lime"))
        assert {note.code for note in found.own_notes} == {note.code for note in alone.notes}
    assert together.fit.n_queries <= explainer(TEXT).fit.n_queries + (method == "partition-shap") * 100


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(2)
    labels = ["bad", "good", "odd"]
    return TorchModule(SmallLSTM(3), tokenize=whitespace_ids, labels=labels, pad_id=0, unk_id=1, mask_id=2)


@pytest.mark.parametrize("method", ["mase", "mase-nlgp", "gradient-x-input", "smoothgrad"])
def test_the_leading_class_is_explained_as_if_alone(model, method):
    explainer = mase.Explainer(model, method=method, n_samples=40, evidence=0)
    alone, together = explainer(TEXT), explainer(TEXT, target="all")
    assert together.target == alone.target
    assert np.array_equal(together.scores, alone.scores)
    assert np.array_equal(together.standard_errors, alone.standard_errors)
    codes = {note.code for note in together.notes}
    gradients = method in ("gradient-x-input", "smoothgrad")
    assert ("led" in codes, "separately" in codes) == (method == "mase", gradients)
    n = alone.fit.n_queries - 1
    assert together.fit.n_queries == (alone.fit.n_queries + 2 * n if gradients else alone.fit.n_queries)
    if gradients:
        other = explainer(TEXT, target="odd")
        assert together.of("odd").scores == pytest.approx(other.scores, abs=1e-10)


def test_the_note_of_the_leading_class_calls_units_what_they_are(model):
    text = "w1 w2 w3. w4 w5 w6. w7 w8 w9. w1 w3. w2 w5. w4 w8. w6 w9. w5 w7. w1 w8."
    found = mase.Explainer(model, units="sentence", n_samples=40, evidence=0)(text, target="all")
    (message,) = [note.message for note in found.notes if note.code == "led"]
    assert "best sentences" in message


def test_without_adaptation_the_classes_are_within_their_errors_of_another_seed(model):
    together = mase.Explainer(model, method="mase-nlgp", n_samples=60, evidence=0)(TEXT, target="all")
    other_seed = mase.Explainer(model, method="mase-nlgp", n_samples=60, seed=1, evidence=0)
    for name in together.prediction.names:
        led, alone = together.of(name), other_seed(TEXT, target=name)
        error = np.sqrt(led.standard_errors**2 + alone.standard_errors**2)
        assert (np.abs(led.scores - alone.scores) < 4 * error).all()


def test_another_response_comes_first_with_its_own_quality(model):
    found = mase.Explainer(model, n_samples=60, evidence=1)(TEXT, target=["odd", "bad"])
    assert found.responses[0].split_half == found.fit.split_half
    first, second = found.responses
    found = replace(found, responses=(first, replace(second, split_half=0.25)))
    other = found.of("bad")
    assert [one.name for one in other.responses] == ["bad", "odd"]
    assert other.fit.split_half == 0.25
    assert (other.of("odd"), found.of("odd")) == (found, found)
    assert other.evidence.response == "odd"
    notes = (Note("poor-fit", "poor", response="bad"), Note("early", "both"))
    careful = replace(found, notes=notes)
    assert [note.code for note in careful.own_notes] == ["early"]
    assert "poor" in careful.of("bad").verdict.reasons


@pytest.mark.parametrize("method", ["mase", "gradient-x-input"])
def test_a_contrast_is_the_difference_of_logits(model, method):
    explainer = mase.Explainer(model, method=method, n_samples=60, link="margin", evidence=0)
    found = explainer(TEXT, target="good", against="odd")
    assert (found.target, found.responses[0].against, found.title) == ("good", "odd", "good rather than odd")
    logits = mase.Explainer(model, method=method, n_samples=60, link="logit", evidence=0)
    difference = logits(TEXT, target="good").response - logits(TEXT, target="odd").response
    assert found.response == pytest.approx(difference, abs=1e-3)
    back = explainer(TEXT, target="odd", against="good")
    if method == "gradient-x-input":  # linear in the explained number
        each = [logits(TEXT, target=name).scores for name in ("good", "odd")]
        assert found.scores == pytest.approx(each[0] - each[1], abs=1e-3)
        assert back.scores == pytest.approx(-found.scores, abs=1e-9)
    else:
        error = np.sqrt(found.standard_errors**2 + back.standard_errors**2)
        assert (np.abs(back.scores + found.scores) < 4 * error + 1e-6).all()


def test_a_contrast_of_additive_logits_comes_back():
    found = mase.Explainer(classifier(), n_samples=100, evidence=0)(TEXT, target="all", against="bad")
    assert [one.name for one in found.responses] == ["good", "odd"]
    for name, column in (("good", 1), ("odd", 2)):
        expected = [WORTH[word][column] - WORTH[word][0] if word in WORTH else 0.0 for word in found.words]
        assert found.of(name).scores == pytest.approx(np.array(expected), abs=1e-3)
    with pytest.raises(OptionError, match="both 'good'"):
        mase.Explainer(classifier(), evidence=0)(TEXT, against="good")


def test_masking_is_asked_about_the_contrast():
    explainer = mase.Explainer(classifier(), n_samples=100, evidence=1)
    found = explainer(TEXT, target="good", against="bad")
    word = found.words.index("beautiful")
    changed = explainer.predict_without(found, [word])
    assert changed.response == pytest.approx(found.expected_without([word]), abs=1e-3)
    assert found.expected_probability_without([word]) is None
    assert found.evidence.without[0].response == pytest.approx(changed.response)


def test_separate_questions_have_each_their_own_log_odds():
    def answer(texts):
        return (1 / (1 + np.exp(-np.array(logits(texts))))).tolist()

    model = Callable(answer, ["bad", "good", "odd"], multilabel=True)
    found = mase.Explainer(model, n_samples=100, evidence=0)(TEXT, target="all")
    assert found.target == "good"
    assert found.prediction.multilabel is True
    assert loads(dumps(found)).prediction.multilabel is True
    for name, column in (("bad", 0), ("good", 1), ("odd", 2)):
        expected = [WORTH[word][column] if word in WORTH else 0.0 for word in found.words]
        assert found.of(name).scores == pytest.approx(np.array(expected), abs=1e-3)


def test_a_model_that_is_not_deterministic_has_its_noise_in_every_class():
    rng = np.random.default_rng(0)
    noisy = Callable(lambda texts: np.array(logits(texts)) + 0.05 * rng.standard_normal((len(texts), 3)),
                     ["bad", "good", "odd"], outputs="logits")  # fmt: skip
    found = mase.Explainer(noisy, method="occlusion", link="logit", evidence=0)(TEXT, target="all")
    for response in found.responses:
        assert all(0.001 < error < 0.2 for error in response.standard_errors)
    assert {note.code: note.response for note in found.notes}["not-deterministic"] is None


def test_who_follows_sees_the_leading_class(model):
    seen = []
    explainer = mase.Explainer(model, n_samples=120, evidence=0)
    found = explainer.follow(TEXT, lambda progress: seen.append(progress.attribution), target="all")
    so_far = [one for one in seen if one is not None]
    assert so_far
    assert all([response.name for response in one.responses] == [found.target] for one in so_far)


def test_each_class_has_its_own_pairs_and_scores_do_not_depend_on_them(monkeypatch):
    def paired(texts):
        return [[0.0, 3.0 * ({"dull", "yet"} <= set(text.split())), float("slow" in text)] for text in texts]

    def explained():
        model = Callable(paired, ["bad", "good", "odd"], outputs="logits")
        return mase.Explainer(model, link="logit", n_samples=300, evidence=0)(TEXT, target="all")

    found = explained()
    (pair,) = found.of("good").interactions
    assert [found.words[unit] for unit in pair.units] == ["dull", "yet"]
    assert pair.score == pytest.approx(3)
    assert found.of("bad").interactions == found.of("odd").interactions == ()
    monkeypatch.setattr("mase.regression.designed.interactions", lambda *_: ())
    without = explained()
    assert [one.scores for one in without.responses] == [one.scores for one in found.responses]
    assert without.of("good").interactions == ()
