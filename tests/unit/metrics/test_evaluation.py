"""Tests of `mase.metrics.evaluate`."""

from copy import deepcopy
from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.unit.metrics.additive import case

from mase import METHODS, Document, Explainer
from mase.errors import (
    CapabilityError,
    EmptyTextError,
    InvalidTextError,
    MaseError,
    NonFiniteError,
    OptionError,
    ShapeError,
    UnknownNameError,
)
from mase.metrics import METRICS
from mase.metrics.base import Column, Metric
from mase.metrics.evaluation import Evaluator, collect, evaluate
from mase.metrics.given import align
from mase.metrics.perturbation import spearman
from mase.models import Callable
from mase.statistics import paired_share, summary_of_mean, summary_of_share
from mase.testing import AdditiveClassifier

TEXT = "the cast is superb but the plot is dull and that's all"


WORTH = {"superb": 0.2, "plot": -0.02, "dull": -0.11, "cast": 0.06, "good": 0.09, "all": 0.03, "but": -0.05}


def test_evaluation_of_methods_and_given_scores(additive_model):
    texts = [TEXT, "a good film", "the cast is dull"]
    given = {"true": [WORTH] * 3}
    metrics = ["comprehensiveness", "delta-accuracy"]
    found = evaluate(additive_model, texts, ["mase-mask"], attributions=given, metrics=metrics, n_samples=64)
    assert found.methods == ("mase-mask", "true")
    assert found.values("true").shape == (3, len(found.columns))
    cases = [case(additive_model, text, align(WORTH, additive_model, text)) for text in texts]
    expected = [METRICS["comprehensiveness"]().evaluate(one)[0] for one in cases]
    assert found.values("true")[:, 0] == pytest.approx(expected)
    assert found.summaries("true")[0].mean == pytest.approx(np.mean(expected))
    difference = found.differences("true", "mase-mask")[0]
    assert difference.mean == pytest.approx(np.mean(found.values("true")[:, 0] - found.values("mase-mask")[:, 0]))
    assert 64 > found.cost("mase-mask")["n_queries"] > found.cost("true")["n_queries"] == 0
    assert found.agreement().shape == (2, 2)
    for of_one in (found.values, found.summaries, found.cost, found.n_evaluated):
        with pytest.raises(UnknownNameError, match="did you mean 'true'"):
            of_one("tru")


def test_a_method_that_cannot_explain_a_text_has_no_value_there(additive_model):
    """Two texts fit a budget of 8. One is too long for occlusion: its values are missing for that method alone."""
    texts, told = ["a good film", TEXT, "the cast is dull"], []
    evaluator = Evaluator(
        additive_model, methods=["occlusion", "random"], metrics=["delta-accuracy", "aopc"], n_samples=8
    )
    judged = [evaluator(text, {"true": WORTH}, on_error=lambda *what: told.append(what)) for text in texts]
    assert [name for name, _ in told] == ["occlusion"]
    assert judged[1].by_method["occlusion"] is None
    with pytest.raises(MaseError) as raised:
        evaluator(TEXT)
    assert str(raised.value) == str(told[0][1])
    found = collect(evaluator, judged)
    assert found.methods == ("occlusion", "random", "true")
    assert [found.n_evaluated(name) for name in found.methods] == [2, 3, 3]
    missing = np.isnan(found.values("occlusion"))
    assert missing[1].all()
    assert not missing[[0, 2]].any()
    for column in (0, 4):  # a share and a mean: as if there had been the other two texts only
        one = collect(evaluator, [judged[0], judged[2]])
        for ours, theirs in (
            (found.summaries("occlusion"), one.summaries("occlusion")),
            (found.differences("true", "occlusion"), one.differences("true", "occlusion")),
        ):
            assert astuple(ours[column]) == pytest.approx(astuple(theirs[column]))
    assert found.summaries("occlusion", [[0, 1], [2]])[0].n_batches == 2
    assert found.cost("occlusion")["n_queries"] == np.mean([judged[i].by_method["occlusion"].n_queries for i in (0, 2)])
    plain = found.to_dict([[0, 2], [1]])
    assert plain["texts"][1]["values"]["occlusion"] == [None] * len(found.columns)
    nothing = collect(evaluator, [judged[1]])
    assert nothing.to_dict()["methods"]["occlusion"] == {
        "summaries": [None] * len(found.columns), "cost": {"n_queries": None, "n_gradients": None, "seconds": None},
    }  # fmt: skip


@pytest.mark.slow
def test_every_summary_difference_and_agreement_is_that_of_its_methods(additive_model):
    texts = [TEXT, "a good film", "the cast is dull", "all is superb"]
    found = evaluate(
        additive_model, texts, ["mase-mask", "random"],
        attributions={"true": [WORTH] * 4, "flat": [{"a": 0, "the": 0, "all": 0}] * 4},
        metrics=["delta-accuracy", "naopc", "infidelity"], n_samples=32,
    )  # fmt: skip
    for method, summaries in found.every_summary([[0, 1], [2, 3]]).items():
        alone = found.summaries(method, [[0, 1], [2, 3]])
        assert [astuple(one) for one in summaries] == [pytest.approx(astuple(one)) for one in alone]
        for (_, column), values, one in zip(found.columns, found.values(method).T, summaries, strict=True):
            slow = (
                summary_of_share(values == 1, [[0, 1], [2, 3]])
                if column.share
                else summary_of_mean(values, [[0, 1], [2, 3]])
            )
            assert (one.mean, one.low, one.high, one.sd) == pytest.approx((slow.mean, slow.low, slow.high, slow.sd))
    for (first, second), differences in found.every_difference().items():
        alone = found.differences(first, second)
        assert [astuple(one) for one in differences] == [pytest.approx(astuple(one)) for one in alone]
        one, two = found.values(first)[:, 0] == 1, found.values(second)[:, 0] == 1
        assert differences[0] == paired_share(one, two)
    assert len(found.every_difference()) == 6
    for row, first in enumerate(found.methods):
        for column, second in enumerate(found.methods):
            pairs = [spearman(one.by_method[first].scores, one.by_method[second].scores) for one in found.texts]
            known = [pair for pair in pairs if not np.isnan(pair)]
            slow = 1.0 if row == column else np.mean(known) if known else np.nan
            assert found.agreement()[row, column] == pytest.approx(slow, nan_ok=True)
    assert np.isnan(found.agreement()[-1, :-1]).all()


def test_evaluation_is_the_same_in_any_order(lstm_model):
    texts = ["one two three", "four five six seven"]
    one = evaluate(lstm_model, texts, ["mase-paper"], metrics=["infidelity", "aopc"], n_samples=64)
    two = evaluate(lstm_model, texts[::-1], ["mase-paper"], metrics=["infidelity", "aopc"], n_samples=64)
    assert np.array_equal(one.values("mase-paper"), two.values("mase-paper")[::-1])


def test_evaluate_says_which_text_failed_and_what_cannot_be_judged(additive_model):
    with pytest.raises(EmptyTextError) as caught:
        evaluate(additive_model, ["a good film", " "], ["mase-mask"])
    assert caught.value.__notes__ == ["at text number 1, counted from 0"]
    with pytest.raises(ShapeError, match="2 attributions for 1 texts"):
        evaluate(additive_model, ["a"], [], attributions={"mine": [{"a": 1}, {"a": 1}]})
    with pytest.raises(OptionError, match="no text"):
        evaluate(additive_model, [], ["mase-mask"])
    with pytest.raises(UnknownNameError, match="did you mean 'infidelity'"):
        evaluate(additive_model, ["a"], ["mase-mask"], metrics=["infidelty"])
    with pytest.raises(OptionError, match="not unique"):
        evaluate(additive_model, ["a"], ["mase-mask", METHODS["mase-mask"]])
    with pytest.raises(OptionError, match="different names"):
        evaluate(additive_model, ["a"], ["mase-mask"], attributions={"mase-mask": [{"a": 1}]})
    with pytest.raises(CapabilityError, match="has to explain the text again"):
        evaluate(additive_model, ["a"], [], attributions={"mine": [{"a": 1}]}, metrics=["seed-agreement"])


def test_the_order_of_a_given_attribution_is_judged(additive_model):
    """As that of a method's own: its scores alone would put other words first."""
    made = Explainer(additive_model, method="occlusion")(TEXT)
    turned = replace(made.responses[0], order=made.responses[0].order[::-1])
    other = replace(made, responses=(turned,))
    negated = [(word, -score) for word, score in made.as_list()]
    given = {"own": [made], "turned": [other], "negated": [negated]}
    found = evaluate(additive_model, [TEXT], [], attributions=given, metrics=["deletion"])
    own, order, scores = (found.summaries(name)[0].mean for name in given)
    assert own < order == pytest.approx(scores)


def test_one_text_method_or_metric_instead_of_several(additive_model):
    with pytest.raises(InvalidTextError, match=r"texts is a single str, .* use a list"):
        evaluate(additive_model, "good", ["random"])
    with pytest.raises(OptionError, match=r"methods is 'random', expected a list, as in \['random'\]"):
        evaluate(additive_model, [TEXT], "random")
    with pytest.raises(OptionError, match=r"metrics is 'delta-accuracy', expected a list, as in \['delta-accuracy'\]"):
        evaluate(additive_model, [TEXT], ["random"], metrics="delta-accuracy")
    with pytest.raises(OptionError, match=r"methods is Method.*, expected a list, as in \['mase'\]"):
        evaluate(additive_model, [TEXT], METHODS["random"])


def test_what_is_not_a_method_a_list_of_attributions_or_of_batches(additive_model):
    with pytest.raises(OptionError, match=r"method is 3, expected a name such as 'mase', or a mase.methods.Method"):
        evaluate(additive_model, [TEXT], [3])
    for given in ([[1, 2]], {"x": {"a": 1}}):
        with pytest.raises(OptionError, match="attribution"):
            evaluate(additive_model, [TEXT], [], attributions=given)
    found = evaluate(additive_model, [TEXT, TEXT], [], attributions={"x": (WORTH for _ in range(2))})
    assert len(found) == 2
    for wrong in ([[5]], [[-1]], [[0.5]], [0, 1], 2, [None]):
        for summarised in (lambda wrong=wrong: found.summaries("x", wrong), lambda wrong=wrong: found.to_dict(wrong)):
            with pytest.raises(OptionError, match=r"batches is .*, expected lists of indices of the 2 texts"):
                summarised()
    assert found.summaries("x", [[1], range(1)])[0].n_batches == 2


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
class Fixed(Metric):
    """A metric of one column that returns what it is made with."""

    numbers: Any
    needs_rescore: ClassVar[bool] = False

    @property
    def columns(self):
        return (Column("number", "higher"),)

    def evaluate(self, instance):
        return self.numbers


@pytest.mark.parametrize("numbers", [np.array([1.0, 2.0]), np.array([]), 1.0, np.array([[1.0]]), None, ["a"]])
def test_a_metric_gives_one_number_for_each_of_its_columns(numbers):
    model, metrics = Callable(lambda texts: [[0.5, 0.5] for _ in texts]), {"fine": Fixed([1]), "mine": Fixed(numbers)}
    evaluator = Evaluator(model, methods=["random"], metrics=metrics)
    with pytest.raises(ShapeError, match="'mine'"):
        evaluator("a good film")


class Share(Fixed):
    @property
    def columns(self):
        return (Column("share", "higher", share=True),)


def test_a_share_of_texts_is_of_ones_among_zeros():
    model = Callable(lambda texts: [[0.5, 0.5] for _ in texts])
    assert evaluate(model, ["a film"], ["random"], metrics={"x": Share([1])}).summaries("random")[0].mean == 1
    for number in (0.5, 2.0):
        with pytest.raises(OptionError, match=rf"returned {number} for its column 'share'.*expected 0, 1 or NaN"):
            evaluate(model, ["a film"], ["random"], metrics={"x": Share([number])})
    with pytest.raises(OptionError, match="better is 'high', expected one of higher, lower"):
        Column("loss", "high")


def stars(texts):
    return [[1 - p, p] for p in (0.3 + 0.4 * ("good" in text) - 0.2 * ("dull" in text) for text in texts)]


def test_methods_with_settings_are_evaluated_beside_each_other():
    text, model = "a good film with a dull end", Callable(stars)
    methods = ["lime", "lime+n_samples=40+link=margin", "mase+design=focused(rounds=3, n_top=4)", "lime+seed=3"]
    names = ("lime", "lime+link=margin+n_samples=40", "mase+design=focused(rounds=3, n_top=4)", "lime+seed=3")
    found = evaluate(model, [text], methods, n_samples=60, seed=1)
    assert found.methods == names
    options = ({}, {"link": "margin", "n_samples": 40}, {}, {"seed": 3})
    for method, name, given in zip(("lime", "lime", methods[2], "lime"), names, options, strict=True):
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


def test_what_differs_by_rounding_alone_is_no_difference():
    worths = {"superb": 0.2, "good": 0.1, "dull": -0.2, "film": 0.03, "long": -0.04}
    model = AdditiveClassifier(worths, constant=0.45)
    texts = [" ".join(np.random.default_rng(seed).permutation([*worths, "a", "that"])) for seed in range(20)]
    evaluation = evaluate(model, texts, ["mase-mask", "occlusion", "random"], metrics=["infidelity"])
    assert [evaluation.summaries(name)[-1].mean for name in ("mase-mask", "occlusion")] == [0, 0]
    differences = evaluation.every_difference()
    assert differences["mase-mask", "occlusion"][-1].p_value == 1
    assert differences["occlusion", "random"][-1].p_value < 0.01


@dataclass(frozen=True)
class Infinite(Metric):
    @property
    def columns(self):
        return (Column("one", "higher"),)

    def evaluate(self, instance):
        return np.array([np.inf])


def test_an_infinite_number_of_a_metric_is_an_error_where_it_arises():
    with pytest.raises(NonFiniteError, match="metric 'mine' returned"):
        evaluate(AdditiveClassifier({}), ["a film"], ["random"], metrics={"mine": Infinite()})
