"""Tests of `mase.metrics.evaluator`."""

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from mase import Document, Explainer
from mase.errors import OptionError, ShapeError, UnknownNameError
from mase.metrics.evaluation import evaluate
from mase.metrics.evaluator import Evaluator
from mase.metrics.protocol import Column
from mase.models import Callable


def judge(documents):
    """The probability of the second class is higher with "good", and the higher the more stars there are."""
    return [[1 - p, p] for p in (0.2 + 0.3 * ("good" in one["t"]) + 0.06 * one["n"] for one in documents)]


def test_fields_are_masked_by_their_background_or_not_at_all():
    model, text = Callable(judge), {"t": "a good film", "n": 5}
    found = evaluate(model, [text], ["occlusion"], background={"n": 0})
    bound = evaluate(model, [Document.of(text, background={"n": 0})], ["occlusion"])
    assert np.array_equal(found.texts[0].by_method["occlusion"].scores, bound.texts[0].by_method["occlusion"].scores)
    assert len(found.texts[0].by_method["occlusion"].scores) == 4
    assert np.array_equal(found.values("occlusion"), bound.values("occlusion"))
    assert found.provenance["background"] == {"n": 0}
    fixed = evaluate(model, [text], ["occlusion"], fixed=["n"])
    assert len(fixed.texts[0].by_method["occlusion"].scores) == 3
    assert fixed.provenance["fixed"] == ["n"]
    with pytest.raises(OptionError, match="fixed is 't', expected a list"):
        evaluate(model, [text], ["occlusion"], fixed="t")


def test_a_text_is_asked_of_the_model_once_before_it_is_explained():
    asked = []

    def counted(texts):
        asked.extend(texts)
        return [[0.2, 0.8] for _ in texts]

    evaluator = Evaluator(Callable(counted), methods=["random"], metrics=["deletion"])
    asked.clear()
    unscored = evaluator.unscored("a film")
    assert (unscored.masker.prediction, asked) == (1, ["a film"])
    assert evaluator.evaluated(unscored).target == evaluator("a film").target == 1


def test_evaluations_are_equal_if_their_results_are():
    found = evaluate(Callable(judge), [{"t": "a good film", "n": 5}], ["occlusion"], fixed=["n"])
    assert deepcopy(found) == found
    text, result = found.texts[0], found.texts[0].by_method["occlusion"]
    for changed in ({"values": result.values + 1}, {"scores": result.scores[:1]}, {"seconds": -1.0}):
        other = replace(text, by_method={"occlusion": replace(result, **changed)})
        assert replace(found, texts=(other,)) != found
    unknown = replace(result, values=np.full(2, np.nan))
    assert deepcopy(unknown) == unknown
    assert unknown != unknown.values.tolist()


@dataclass(frozen=True)
class Fixed:
    """A metric of one column that returns what it is made with."""

    numbers: Any
    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self):
        return (Column("number", "higher"),)

    def evaluate(self, instance):
        return self.numbers


@pytest.mark.parametrize("numbers", [np.array([1.0, 2.0]), np.array([]), 1.0, np.array([[1.0]]), None])
def test_a_metric_gives_one_number_for_each_of_its_columns(numbers):
    model, metrics = Callable(lambda texts: [[0.5, 0.5] for _ in texts]), {"fine": Fixed([1]), "mine": Fixed(numbers)}
    evaluator = Evaluator(model, methods=["random"], metrics=metrics)
    with pytest.raises(ShapeError, match="'mine'"):
        evaluator("a good film")


def stars(texts):
    return [[1 - p, p] for p in (0.3 + 0.4 * ("good" in text) - 0.2 * ("dull" in text) for text in texts)]


def test_methods_with_settings_are_evaluated_beside_each_other():
    text, model = "a good film with a dull end", Callable(stars)
    methods = ["lime", "lime+n_samples=40+link=margin", "mase+design=focused(rounds=3, n_top=4)", "lime+seed=3"]
    names = ("lime", "lime+link=margin+n_samples=40", "mase+design=focused(rounds=3, n_top=4)", "lime+seed=3")
    found = evaluate(model, [text], methods, n_samples=60, seed=1)
    assert found.methods == names
    options = ({}, {"link": "margin", "n_samples": 40}, {"design": "focused(rounds=3, n_top=4)"}, {"seed": 3})
    for method, name, given in zip(("lime", "lime", "mase", "lime"), names, options, strict=True):
        alone = Explainer(model, method=method, **{"n_samples": 60, "seed": 1} | given, evidence=0)(text)
        assert np.array_equal(found.texts[0].by_method[name].scores, alone.scores)
    assert found.provenance["settings"]["lime+link=margin+n_samples=40"]["n_samples"] == 40


@pytest.mark.parametrize(
    ("methods", "error", "match"),
    [
        (["lime+sigmas=1"], UnknownNameError, "'sigma'"),
        (["lime+sigma=wide"], OptionError, "type float"),
        (["lyme+link=margin"], UnknownNameError, "'lime'"),
        (["lime+link=margins"], UnknownNameError, "'margin'"),
        (["lime+n_samples=1"], OptionError, ">= 2"),
        (["lime+sigma=0.3"], OptionError, "fixed distribution"),
        (["lime+n_samples=9+link=margin", "lime+link=margin+n_samples=9"], OptionError, "not unique"),
    ],
)
def test_settings_that_cannot_be_are_refused(methods, error, match):
    with pytest.raises(error, match=match):
        Evaluator(Callable(stars), methods=methods)


def test_texts_are_explained_again_with_the_seed_that_the_method_names():
    texts, metrics = ["a good film with a dull end and more of it"], ["seed-agreement"]
    named = evaluate(Callable(stars), texts, ["lime+seed=3"], metrics=metrics, n_samples=20)
    given = evaluate(Callable(stars), texts, ["lime"], metrics=metrics, n_samples=20, seed=3)
    other = evaluate(Callable(stars), texts, ["lime"], metrics=metrics, n_samples=20)
    assert np.array_equal(named.values("lime+seed=3"), given.values("lime"), equal_nan=True)
    assert not np.array_equal(named.values("lime+seed=3"), other.values("lime"), equal_nan=True)
