"""Tests of `mase.render.facts`."""

from dataclasses import replace

import numpy as np
import pytest
from tests.attributions import attribution

from mase.attribution import Fit, Prediction
from mase.links import LINKS
from mase.render.facts import (
    duration,
    fit_facts,
    link_meaning,
    meaning,
    measured,
    origin,
    other_responses,
    percent,
    percent_of_all,
    top_classes,
    unit,
)
from mase.render.terminal import summary

MASKED = {"name": "mase", "space": {"name": "token-mask"}, "design": {"name": "focused"}}


SCALED = {"name": "mase-nlgp", "space": {"name": "token-scale"}, "design": {"name": "orthogonal"}}


def test_facts():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert [percent_of_all(share) for share in (1.0, 0.99999, 0.5)] == ["100 %", "> 99.9 %", "50.0 %"]
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]
    assert fit_facts(attribution(r2=0.999, fit=Fit(1.0, 1.0, 12_345, 7, 61.0))) == [
        "R² > 0.99", "split-half 1.00", "12,345 evaluations", "7 gradients", "1 min 1 s",
    ]  # fmt: skip
    assert fit_facts(attribution(r2=None, fit=Fit(None, None, 2, 0, 1.0))) == ["2 evaluations", "1.0 s"]
    response = attribution(r2=0.5).responses[0]
    exact = replace(attribution(fit=Fit(None, 1.0, 17, 0, 1.0)), responses=(replace(response, exact=True),))
    assert fit_facts(exact) == ["R² 0.50", "exact", "17 evaluations", "1.0 s"]
    assert ("interval" in measured(attribution()), "interval" in measured(exact)) == (True, False)
    many = Prediction("c0", 0, 0.5, {f"c{index}": 0.5 - index / 100 for index in range(46)})
    assert [label for label, *_ in top_classes(attribution(prediction=many, target="c9"), 3)] == [
        "c0",
        "c1",
        "c2",
        "c9",
    ]
    assert origin(attribution())[:3] == ["model lstm-imdb (sha256 abababababab)", "method mase", "space token-scale"]
    assert origin(attribution(model={"name": None}, method={}, versions={})) == ["model None", "method None", "seed 0"]


def test_the_unit_of_the_scores_is_told():
    margin, masked = attribution(link="margin", method=MASKED), attribution(method=MASKED)
    assert (unit(attribution()), link_meaning(attribution())) == ("probability of pos", None)
    assert unit(margin) == "margin of pos in log-odds"
    assert np.exp(0.7) == pytest.approx(2, rel=0.01)
    assert link_meaning(margin) == "margin: log-odds against the most probable other class; +0.7 doubles the odds"
    assert [link_meaning(attribution(link=link)) is None for link in LINKS] == [True, False, False, False, False, False]
    separate = Prediction("pos", 1, 0.8, {"neg": 0.7, "pos": 0.8})
    assert (
        link_meaning(replace(margin, prediction=separate))
        == "margin: the log-odds of the class against its absence; +0.7 doubles the odds"
    )
    logit = attribution(link="logit", value=1.5)
    assert link_meaning(logit) == "logit: the model's raw score of the class"
    assert (
        link_meaning(attribution(link="logit", value=np.log(0.8 / 0.2)))
        == "logit: the log-odds of the class; +0.7 doubles the odds"
    )
    assert summary(margin).splitlines()[-3:] == [
        "8 strongest of 11 words; margin of pos in log-odds, ± 95 % interval (sampling)", link_meaning(margin),
        "R² 0.98 · 1,001 evaluations · 200 ms · mase, seed 0",
    ]  # fmt: skip
    put_back, scaled, told = (
        meaning([one]) for one in (masked, attribution(method=SCALED), attribution(method={"name": "random"}))
    )
    assert "when the word is kept instead of masked" in put_back[0]
    assert "with the word's share in the input" in scaled[0]
    assert "as the method named below measures it" in told[0]
    assert meaning([margin, masked, margin]) == [*put_back, f"M{link_meaning(margin)[1:]}."]
    assert meaning([]) == []


def test_a_contrast_is_named_wherever_the_class_is():
    found = attribution(against="neg", link="margin", method=MASKED)
    assert unit(found) == "margin of pos rather than neg in log-odds"
    assert link_meaning(found) == "margin: the log-odds of one against the other; +0.7 doubles the odds"
    assert "pos rather than neg" in summary(found)


def test_other_responses_have_a_line_each():
    found = attribution(scores={"superb": 0.5})
    first = found.responses[0]
    others = [replace(first, name=f"c{index}", scores=tuple(-score for score in first.scores)) for index in range(10)]
    lines = other_responses(replace(found, responses=(first, *others)))
    assert lines[0].startswith("c0: probability 0.8; ")
    assert lines[-1] == "and 2 more"
    assert len(lines) == 9
    assert other_responses(found) == []
