"""Tests of `mase.render.facts`."""

from dataclasses import replace

from tests.answers import cited
from tests.attributions import attribution

from mase.attribution import Fit, Prediction
from mase.render.facts import (
    cost_facts,
    duration,
    measured,
    origin,
    other_responses,
    percent,
    percent_of_all,
    quality_facts,
    top_classes,
    unit,
)


def test_facts():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert [percent_of_all(share) for share in (1.0, 0.99999, 0.5)] == ["100 %", "> 99.9 %", "50.0 %"]
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]
    known = attribution(r2=0.999, r2_held_out=-0.25, fit=Fit(1.0, 1.0, 12_345, 7, 61.0))
    assert quality_facts(known) == ["R² > 0.99", "held out -0.25", "split-half 1.00"]
    assert cost_facts(known) == ["12,345 evaluations", "7 gradients", "1 min 1 s"]
    unknown = attribution(r2=None, fit=Fit(None, None, 2, 0, 1.0))
    assert (quality_facts(unknown), cost_facts(unknown)) == ([], ["2 evaluations", "1.0 s"])
    response = attribution(r2=0.5).responses[0]
    exact = replace(attribution(fit=Fit(None, 1.0, 17, 0, 1.0)), responses=(replace(response, exact=True),))
    assert quality_facts(exact) == ["R² 0.50", "exact"]
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
    assert unit(attribution()) == "probability of pos"
    assert unit(attribution(link="margin", against="neg")) == "margin of pos rather than neg in log-odds"
    assert unit(cited()) == "log-odds of answer"
    assert unit(attribution(label="p" * 100)) == f"probability of {'p' * 79}…"


def test_other_responses_have_a_line_each():
    found = attribution(scores={"superb": 0.5})
    first = found.responses[0]
    others = [replace(first, name=f"c{index}", scores=tuple(-score for score in first.scores)) for index in range(10)]
    lines = other_responses(replace(found, responses=(first, *others)))
    assert lines[0].startswith("c0: probability 0.8; ")
    assert lines[-1] == "and 2 more"
    assert len(lines) == 9
    assert other_responses(found) == []
    assert other_responses(cited()) == []  # parts of an answer
