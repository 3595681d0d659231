"""Tests of `mase.render.meanings`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.answers import cited
from tests.attributions import attribution

from mase.attribution import Prediction
from mase.links import LINKS
from mase.render.meanings import link_meaning, meaning
from mase.render.terminal import summary

MASKED = {"name": "mase", "space": {"name": "token-mask"}, "design": {"name": "focused"}}
SCALED = {"name": "mase-nlgp", "space": {"name": "token-scale"}, "design": {"name": "orthogonal"}}


def test_the_link_is_told():
    margin = attribution(link="margin", method=MASKED)
    assert link_meaning(attribution()) is None
    assert np.exp(0.7) == pytest.approx(2, rel=0.01)
    assert link_meaning(margin) == "margin: log-odds against the most probable other class; +0.7 doubles the odds"
    assert [link_meaning(attribution(link=link)) is None for link in LINKS] == [True, False, False, False, False, False]
    logit = attribution(link="logit", value=1.5)
    assert link_meaning(logit) == "logit: the model's raw score of the class"
    assert (
        link_meaning(attribution(link="logit", value=np.log(0.8 / 0.2)))
        == "logit: the log-odds of the class; +0.7 doubles the odds"
    )
    assert summary(margin).splitlines()[-4:] == [
        "8 strongest of 11 words; margin of pos in log-odds, ± 95 % interval (sampling)", link_meaning(margin),
        "R² 0.98",
        "the model was asked 1,001 times · 200 ms · mase, seed 0",
    ]  # fmt: skip


@pytest.mark.parametrize("probabilities", [{"neg": 0.7, "pos": 0.8}, {"neg": 0.2, "pos": 0.8}])
def test_whether_classes_compete_does_not_depend_on_the_sum_of_their_probabilities(probabilities):
    def told(multilabel):
        prediction = Prediction("pos", 1, 0.8, probabilities, multilabel=multilabel)
        return link_meaning(attribution(link="margin", method=MASKED, prediction=prediction))

    assert told(True) == "margin: the log-odds of the class against its absence; +0.7 doubles the odds"
    assert told(False) == "margin: log-odds against the most probable other class; +0.7 doubles the odds"
    assert told(None) == "margin: the log-odds of the class; +0.7 doubles the odds"


def test_the_link_of_an_answer_is_told():
    assert link_meaning(cited()) == "log-odds: +0.7 doubles the odds of the answer"
    first = cited().responses[0]
    told = [
        link_meaning(cited(responses=(replace(first, link=link, against=against),), answer=cited().answer))
        for link, against in (("log-probability", None), ("log-probability", "No."), ("probability", None))
    ]
    assert told == [
        "log-probability: +0.7 doubles the probability",
        "log-probability: +0.7 doubles the ratio of both probabilities",
        None,
    ]


def test_what_a_score_means_is_told():
    margin, masked = attribution(link="margin", method=MASKED), attribution(method=MASKED)
    put_back, scaled, told, deleted = (
        meaning([one]) for one in (masked, attribution(method=SCALED), attribution(method={"name": "random"}), cited())
    )
    assert "when the word is kept instead of masked" in put_back[0]
    assert "with the word's share in the input" in scaled[0]
    assert "as the method named below measures it" in told[0]
    assert "when the sentence is kept instead of left out" in deleted[0]
    assert meaning([margin, masked, margin]) == [*put_back, f"M{link_meaning(margin)[1:]}."]
    assert meaning([]) == []


def test_a_contrast_is_named_wherever_the_class_is():
    found = attribution(against="neg", link="margin", method=MASKED)
    assert link_meaning(found) == "margin: the log-odds of one against the other; +0.7 doubles the odds"
    assert "pos rather than neg" in summary(found)
