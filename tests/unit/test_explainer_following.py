"""Tests of `mase.Explainer.follow` and `predict_without`, and of what the scores lead to expect."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch

import mase
from mase.errors import OptionError
from mase.testing import LogisticClassifier, SmallMLP, whitespace_ids

TEXT = "a dull start but a wonderful and warm end of a film that many people like to see"
WEIGHTS = {"dull": -1.5, "wonderful": 2.0, "warm": 0.75, "film": 0.25}
judge = LogisticClassifier(WEIGHTS)


def log_odds(text):
    return sum(WEIGHTS.get(word, 0.0) for word in text.split())


def without(words, units):
    return " ".join(word for index, word in enumerate(words) if index not in units)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"evidence": 3},
        {"method": "mase-nlgp"},
        {"method": "occlusion"},
        {"method": "partition-shap"},
        {"method": "gradient-x-input"},
        {"tolerance": 0.1},
    ],
)
def test_who_follows_does_not_change_the_result(lstm_model, options):
    explainer = mase.Explainer(lstm_model, n_samples=120, batch_size=16, **options)
    seen = []
    found = explainer.follow(TEXT, seen.append)
    assert found == explainer(TEXT)
    assert found.scores.tobytes() == explainer(TEXT).scores.tobytes()
    asked = [progress.n_asked for progress in seen]
    assert asked == sorted(asked)
    assert asked[-1] == found.fit.n_queries
    assert {progress.n_samples for progress in seen} == {explainer.method.n_samples}


def test_who_follows_may_use_the_model(lstm_model):
    explainer = mase.Explainer(lstm_model, n_samples=40, batch_size=16)
    prediction, other = lstm_model.predict([TEXT]).tolist(), explainer("a dull film").scores.tolist()
    seen = []

    def listener(_):
        seen.append((lstm_model.predict([TEXT]).tolist(), explainer("a dull film").scores.tolist()))

    assert explainer.follow(TEXT, listener).scores.tolist() == explainer(TEXT).scores.tolist()
    assert seen == [(prediction, other)] * len(seen)
    assert len(seen) > 3


def test_every_batch_and_every_round_but_the_last_is_told(lstm_model):
    seen = []
    found = mase.Explainer(lstm_model, n_samples=100, batch_size=10).follow(TEXT, seen.append)
    interim = [progress.attribution for progress in seen if progress.attribution is not None]
    assert len(interim) == found.method["design"]["rounds"] - 1 == 3
    assert len(seen) >= 10 + 4
    assert all(one.words == found.words and one.target == found.target for one in interim)
    errors = [one.standard_errors.mean() for one in interim]
    assert errors[-1] < errors[0]
    assert interim[-1].scores == pytest.approx(found.scores, abs=10 * found.standard_errors.max())


def test_random_numbers_of_a_listener_do_not_reach_the_model():
    def noisy(texts):
        draws = [random.random() for _ in texts]
        return [[draw, 1 - draw] for draw in draws]

    def listener(_progress):
        random.random()
        np.random.random()  # noqa: NPY002

    explainer = mase.Explainer(noisy, n_samples=40)
    assert explainer.follow("one two three", listener) == explainer("one two three")


def test_one_call_can_be_followed_too():
    seen = []
    found = mase.explain(TEXT, judge, n_samples=60, listener=seen.append)
    assert seen[-1].n_asked == found.fit.n_queries
    assert found == mase.explain(TEXT, judge, n_samples=60)


class Enough(Exception):
    """The reason of a listener to end an explanation."""


@pytest.mark.parametrize("method", ["mase", "occlusion", "partition-shap", "permutation-importance"])
def test_what_the_listener_raises_ends_the_explanation(method):
    asked = []

    def count(texts):
        asked.extend(texts)
        return judge(texts)

    def stop(progress):
        if progress.n_asked > 5:
            raise Enough

    explainer = mase.Explainer(count, method=method, n_samples=500, batch_size=5)
    with pytest.raises(Enough):
        explainer.follow(TEXT, stop)
    assert len(asked) < 30


def test_a_memory_error_of_the_listener_is_not_one_of_the_model():
    def stop(_progress):
        raise MemoryError

    with pytest.raises(MemoryError):
        mase.Explainer(judge, n_samples=50).follow(TEXT, stop)


@pytest.mark.parametrize("method", ["mase", "kernel-shap", "random"])
@pytest.mark.parametrize("target", [None, 0])
def test_a_prediction_without_units_is_that_of_the_text_without_them(method, target):
    explainer = mase.Explainer(judge, method=method, n_samples=50)
    found = explainer(TEXT, target=target)
    for units in ([], [5], [1, 5], [7, 1, 1], range(len(found.units) - 1)):
        changed = explainer.predict_without(found, units)
        (expected,) = judge([without(TEXT.split(), set(units))])
        assert changed.units == tuple(dict.fromkeys(units))
        assert changed.label == str(np.argmax(expected))
        assert changed.probability == pytest.approx(expected.max())
        assert changed.target_probability == pytest.approx(expected[int(found.target)])


@pytest.mark.parametrize("options", [{}, {"method": "mase-nlgp"}, {"units": "token"}, {"reference": "pad"}])
def test_a_prediction_without_units_is_that_of_the_evidence(lstm_model, options):
    explainer = mase.Explainer(lstm_model, n_samples=120, evidence=3, **options)
    found = explainer(TEXT)
    for changed in found.evidence.without:
        again = explainer.predict_without(found, changed.units)
        assert again.label == changed.label
        assert again.target_probability == pytest.approx(changed.target_probability, abs=1e-3)


@pytest.mark.parametrize("link", ["margin", "logit"])
def test_the_scores_of_a_linear_model_say_what_it_will_predict(link):
    explainer = mase.Explainer(judge, link=link, n_samples=200)
    found = explainer(TEXT, target=1)
    for units in ([], [5], [1, 5, 7]):
        left = without(TEXT.split(), units)
        assert found.expected_without(units) == pytest.approx(log_odds(left), abs=1e-3)
        expected = explainer.predict_without(found, units).target_probability
        assert found.expected_probability_without(units) == pytest.approx(expected, abs=1e-3)


def test_an_expected_probability_is_one():
    found = mase.Explainer(judge, link="probability", n_samples=200)(TEXT, target=1)
    best = [index for index, score in enumerate(found.scores) if score > 0.01]
    assert found.expected_without(best) == pytest.approx(found.response - found.scores[best].sum())
    shifted = replace(found, responses=(replace(found.responses[0], value=-0.5),))
    assert shifted.expected_without([]) == -0.5
    assert shifted.expected_probability_without([]) == 0
    logs = mase.Explainer(judge, link="log-probability", n_samples=200)(TEXT, target=1)
    assert logs.expected_probability_without([]) == pytest.approx(logs.target_probability)


def softmax(texts):
    logits = np.array([[log_odds(text), 0.5, -1.0] for text in texts])
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def test_a_link_that_depends_on_further_classes_has_no_expected_probability():
    for link, known in (("margin", False), ("logit", True), ("probability", True)):
        found = mase.Explainer(softmax, link=link, n_samples=50)(TEXT, target=0)
        assert (found.expected_probability_without([5]) is not None) == known
    logits = mase.models.Callable(lambda texts: [[log_odds(text), 1.0] for text in texts], outputs="logits")
    found = mase.Explainer(logits, link="logit", n_samples=50)(TEXT, target=0)
    assert found.expected_probability_without([5]) is None


@pytest.mark.parametrize("method", ["gradient", "random"])
def test_scores_without_a_sign_or_a_meaning_lead_to_expect_nothing(lstm_model, method):
    found = mase.Explainer(lstm_model, method=method)(TEXT)
    assert found.expected_without([0]) is None
    assert found.expected_probability_without([0]) is None


@pytest.mark.parametrize("units", [[-1], [18], [True], ["5"], [1.5], [[0]], [{}], [0, 99], 0, None])
def test_units_that_do_not_exist(units):
    explainer = mase.Explainer(judge, n_samples=50)
    found = explainer(TEXT)
    with pytest.raises(OptionError):
        explainer.predict_without(found, units)
    with pytest.raises(OptionError):
        found.expected_without(units)


def test_an_attribution_of_another_model_is_refused(lstm_model):
    found = mase.Explainer(judge, n_samples=50)(TEXT)
    with pytest.raises(OptionError):
        mase.Explainer(lstm_model).predict_without(found, [0])


def test_an_attribution_from_before_a_module_was_trained_says_what_differs():
    module = SmallMLP()
    explainer = mase.Explainer(module, whitespace_ids, n_samples=16)
    found = explainer(TEXT)
    with torch.no_grad():
        module.head.weight.mul_(2)
    with pytest.raises(OptionError, match=r"'SmallMLP', with another sha256 .*explain the text again"):
        explainer.predict_without(found, [0])


def test_who_follows_is_a_function():
    with pytest.raises(OptionError, match="listener is of type int"):
        mase.explain(TEXT, judge, listener=5)


def test_units_of_another_explainer_cannot_be_masked(lstm_model):
    found = mase.Explainer(lstm_model, units="line", n_samples=16)("A good film.\nA bad day.")
    with pytest.raises(OptionError, match=r"has the units 'line', expected 'word'.* units='line'"):
        mase.Explainer(lstm_model, n_samples=16).predict_without(found, [0])


def test_units_of_another_function_of_the_same_name_cannot_be_masked():
    whole, halves = (lambda text: [(0, len(text))]), (lambda text: [(0, 6), (6, len(text))])
    found = mase.Explainer(judge, units=whole, n_samples=16)(TEXT)
    with pytest.raises(OptionError, match=r"has 1 units, expected the 2 units"):
        mase.Explainer(judge, units=halves, n_samples=16).predict_without(found, [0])


def test_a_prediction_without_units_is_of_an_attribution():
    explainer = mase.Explainer(lambda texts: [[0.3, 0.7]] * len(texts), n_samples=20)
    with pytest.raises(OptionError, match="expected an attribution"):
        explainer.predict_without("a b", [0])
