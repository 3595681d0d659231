"""Tests of `mase.explainer` on models that return values instead of class scores."""

import json
import re
from io import StringIO

import numpy as np
import pytest
import torch
from rich.console import Console

import mase
from mase.attribution import Prediction
from mase.errors import CapabilityError, ModelError, NonFiniteError, OptionError, ShapeError, UnknownNameError
from mase.models import Callable, TorchModule
from mase.render.html import page
from mase.render.listing import listing
from mase.render.terminal import heat_map, summary
from mase.testing.modules import SmallLSTM, whitespace_ids

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
    module = SmallLSTM()
    model = TorchModule(module, tokenize=whitespace_ids, outputs="values", labels=["joy", "anger"])
    raw = model.predict([TEXT])
    assert abs(raw.sum() - 1) > 0.1
    found = mase.Explainer(model, method=method, n_samples=100)(TEXT, target="anger")
    assert (found.link, found.response) == ("value", pytest.approx(raw[0, 1], rel=1e-5))
    logits = TorchModule(module, tokenize=whitespace_ids, outputs="logits", labels=["joy", "anger"])
    same = mase.Explainer(logits, method=method, n_samples=100, link="logit")(TEXT, target="anger")
    assert found.scores == pytest.approx(same.scores)
    with pytest.raises(OptionError, match="outputs"):
        TorchModule(module, tokenize=whitespace_ids, outputs="numbers")
