"""Tests of `mase.explainer`: the scores of a text do not depend on what was explained before it, nor on the process."""

import json
import random
import re
from io import StringIO

import numpy as np
import pytest
import torch
from rich.console import Console

import mase
from mase.attribution import Prediction
from mase.errors import (
    CapabilityError,
    DataError,
    ModelError,
    NonFiniteError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from mase.models import Callable, TorchModule
from mase.render.html import page
from mase.render.terminal import heat_map, listing, summary
from mase.testing import LogisticClassifier, SmallLSTM, whitespace_ids
from mase.testing.modules import SmallLSTM as ExplainerValuesSmallLSTM
from mase.testing.modules import whitespace_ids as explainer_values_whitespace_ids

TEXTS = ["a good film , though rather slow", "not good , and far too long for me", "good"]


WORDS = LogisticClassifier({"good": 2.0, "slow": -1.0, "long": -0.5})


FAILING = "this text breaks the model"


def noisy(texts):
    """A function with random numbers of NumPy and Python, which also fails for one text."""
    if any("breaks" in text for text in texts):
        raise ValueError("broken")
    table = np.asarray(WORDS(texts)) + np.random.normal(0, 0.01, (len(texts), 1)) * [1, -1]  # noqa: NPY002
    p = np.clip(table[:, 0] + random.random() / 100, 0, 1)
    return np.stack([p, 1 - p], axis=1)


class Dropping(SmallLSTM):
    """A module whose dropout is always on."""

    def forward(self, ids):
        if len(ids[0]) > 9:
            raise RuntimeError("too long")
        states, _ = self.lstm(self.words(ids))
        return self.head(torch.nn.functional.dropout(states.amax(1), 0.3, training=True))


def tokenize(text):
    if text == FAILING:
        raise ValueError("broken")
    return whitespace_ids(text)


def module(kind):
    torch.manual_seed(3)
    return TorchModule(kind(), tokenize=tokenize, mask_id=2)


MODELS = {
    "function": lambda: WORDS,
    "noisy function": lambda: noisy,
    "noisy function with a token": lambda: Callable(noisy, mask_token="..."),
    "module": lambda: module(SmallLSTM),
    "noisy module": lambda: module(Dropping),
}


def scores(explainer, texts):
    return {text: (one := explainer(text)).scores.tolist() + one.standard_errors.tolist() for text in texts}


def seed_all(seed):
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    torch.manual_seed(seed)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.slow
def test_order_and_failures_and_random_states_change_no_bit(name):
    def explainer():
        return mase.Explainer(MODELS[name](), n_samples=40)

    seed_all(1)
    expected = scores(explainer(), TEXTS)
    seed_all(2)
    other = explainer()
    if name != "function":
        with pytest.raises(ModelError):
            other(FAILING)
    assert scores(other, reversed(TEXTS)) == expected
    assert scores(other, TEXTS) == expected
    assert [scores(explainer(), [text]) for text in TEXTS] == [{text: expected[text]} for text in TEXTS]


def test_the_seed_of_the_explainer_seeds_a_noisy_function():
    first, second = (mase.Explainer(noisy, n_samples=40, seed=seed)(TEXTS[0]).scores.tolist() for seed in (0, 1))
    assert first != second


class Switching(SmallLSTM):
    """A module for at least ten words, whose scores are logits of short texts and probabilities of long ones."""

    def forward(self, ids):
        if ids.shape[1] < 10:
            raise RuntimeError("too short")
        logits = super().forward(ids)
        return logits if ids.shape[1] < 20 else torch.softmax(logits, 1)


def test_the_first_text_does_not_decide_what_the_scores_are():
    texts = [" ".join(f"w{index}" for index in range(n)) for n in (12, 30)]
    forth, back = module(Switching), module(Switching)
    assert [forth.predict([text]).tolist() for text in texts] == [
        back.predict([text]).tolist() for text in reversed(texts)
    ][::-1]


TEXT = "a very good but long film"


WORTH = {"good": 20.0, "very": 5.0, "long": -8.0}


def stars(texts):
    """One value per text: 30 plus the worth of its words, and so no probability."""
    return [30.0 + sum(worth for word, worth in WORTH.items() if word in text.split()) for text in texts]


def stars_and_length(texts):
    return [[one, len(text)] for one, text in zip(stars(texts), texts, strict=True)]


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "occlusion", "partition-shap"])
def test_the_coefficients_of_a_value_come_back(method):
    found = mase.Explainer(Callable(stars, outputs="values"), method=method, n_samples=400)(TEXT)
    assert (found.target, found.link, found.method["link"]) == ("value", "value", "value")
    expected = [WORTH.get(word, 0.0) for word in found.words]
    assert found.scores == pytest.approx(np.array(expected), abs=1e-6)
    assert (found.response, found.target_probability) == (47.0, None)
    assert found.expected_without([2]) == pytest.approx(27.0)
    assert found.expected_probability_without([2]) is None


def test_the_prediction_of_values_has_no_probability():
    found = mase.Explainer(Callable(stars, outputs="values"))(TEXT)
    assert found.prediction == Prediction("value", 0, None, {}, {"value": 47.0})
    model = Callable(stars_and_length, ["stars", "length"], outputs="values")
    assert model.predict([TEXT]).tolist() == [[47.0, len(TEXT)]]
    explainer = mase.Explainer(model)
    assert explainer(TEXT).target == "stars"  # the first, though the second may be larger
    assert explainer(TEXT, target="length").prediction == explainer(TEXT).prediction
    assert explainer(TEXT, target=1).response == len(TEXT)
    with pytest.raises(UnknownNameError, match="stars"):
        explainer(TEXT, target="height")
    assert Callable(stars_and_length, outputs="values").labels == ("value 0", "value 1")


def test_evidence_is_a_change_of_value_and_nothing_flips():
    explainer = mase.Explainer(Callable(stars, outputs="values"), evidence=2)
    found = explainer(TEXT)
    first = found.evidence.without[0]
    assert (first.units, first.probability, first.target_probability) == ((2,), None, None)
    assert first.response == pytest.approx(27.0)
    assert found.evidence.flip_set is None
    assert explainer.predict_without(found, [2]) == first
    assert "without “good” and “very”: value 22" in summary(found)


def test_values_are_shown_and_saved_without_a_percentage(tmp_path):
    explainer = mase.Explainer(Callable(stars_and_length, ["stars", "length"], outputs="values"), evidence=1)
    both = explainer([TEXT, "a good film"])
    console = Console(record=True, width=100, file=StringIO())
    console.print(heat_map(both[0]))
    for shown in (console.export_text(), summary(both[0]), listing(both)):
        assert "stars 47" in shown
        assert re.findall(r"[\d.]+ %", shown.replace("95 %", "").replace("> 99 %", "")) == []
    assert "stars" in page(both)
    both[0].save(tmp_path / "a.json")
    assert mase.load(tmp_path / "a.json") == both[0]
    plain = json.loads((tmp_path / "a.json").read_text())
    assert plain["prediction"]["probability"] is None
    assert plain["prediction"]["values"] == {"stars": 47.0, "length": len(TEXT)}


def test_a_link_that_needs_classes_is_refused_and_the_methods_own_is_replaced():
    model = Callable(stars, outputs="values")
    assert mase.Explainer(model, method="mase").method.link == "value"
    with pytest.raises(CapabilityError, match="returns values"):
        mase.Explainer(model, link="logit")


def test_metrics_that_need_classes_are_refused():
    model = Callable(stars, outputs="values")
    with pytest.raises(CapabilityError, match="values have no class probabilities"):
        mase.metrics.evaluate(model, [TEXT], methods=["occlusion"])


def test_answers_that_are_no_values():
    for answer, error in (
        ([[1.0, 2.0]], ShapeError),
        ([float("-inf")], NonFiniteError),
        (["high"], ModelError),
    ):
        with pytest.raises(error):
            Callable(lambda texts, answer=answer: answer * len(texts), ["stars"], outputs="values").predict([TEXT])
    with pytest.raises(OptionError, match="multilabel"):
        Callable(stars, outputs="values", multilabel=True)


@pytest.mark.parametrize("method", ["mase", "gradient-x-input", "mase-nlgp"])
def test_a_module_returns_values(method):
    torch.manual_seed(0)
    module = ExplainerValuesSmallLSTM()
    model = TorchModule(module, tokenize=explainer_values_whitespace_ids, outputs="values", labels=["joy", "anger"])
    raw = model.predict([TEXT])
    assert abs(raw.sum() - 1) > 0.1
    found = mase.Explainer(model, method=method, n_samples=100)(TEXT, target="anger")
    assert (found.link, found.response) == ("value", pytest.approx(raw[0, 1], rel=1e-5))
    logits = TorchModule(module, tokenize=explainer_values_whitespace_ids, outputs="logits", labels=["joy", "anger"])
    same = mase.Explainer(logits, method=method, n_samples=100, link="logit")(TEXT, target="anger")
    assert found.scores == pytest.approx(same.scores)
    with pytest.raises(OptionError, match="outputs"):
        TorchModule(module, tokenize=explainer_values_whitespace_ids, outputs="numbers")


@pytest.mark.parametrize("model", ["a great film", "It works.\nIt lasts.", "./no such folder"])
def test_a_text_in_the_place_of_the_model_is_told_before_anything_is_opened(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase.explainer.Explainer", lambda *_, **__: pytest.fail("opens a model"))
    with pytest.raises(DataError, match=r"^model is .* tuple"):
        mase.explain("a dull film", model)


def test_the_name_of_a_folder_may_have_a_space(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my model").mkdir()
    with pytest.raises(DataError, match=r"config\.json"):
        mase.explain("a dull film", "my model")
