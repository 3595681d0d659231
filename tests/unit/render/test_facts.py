"""Tests of `mase.render.facts`."""

import json
import shutil
import subprocess
from dataclasses import replace

import pytest
from tests.answers import cited
from tests.attributions import attribution

from mase.attribution import Fit, Interaction, Prediction
from mase.render.facts import (
    amount,
    cost_facts,
    duration,
    interaction_line,
    measured,
    origin,
    other_responses,
    percent,
    percent_of_all,
    quality_facts,
    top_classes,
    unit,
)
from mase.render.html import page
from mase.render.templates import resource
from mase.render.terminal import summary


def test_facts():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert [percent_of_all(share) for share in (1.0, 0.99999, 0.5)] == ["100 %", "> 99.9 %", "50.0 %"]
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]
    known = attribution(r2=0.999, r2_held_out=-0.25, fit=Fit(1.0, 1.0, 12_345, 7, 61.0))
    assert quality_facts(known) == ["R² > 0.99", "held out −0.25", "split-half 1.00"]
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


NODE = shutil.which("node")
AMOUNTS = {
    0.0: "0", 1.0: "1", 0.99996: "1.000", 0.8: "0.8", 1.0625: "1.063", -2.5: "−2.5", 9999.4: "9999", 9999.5: "10,000",
    10000.5: "10,001", -123456.7: "−123,457", 1e6: "1,000,000", 1.5e20: "150,000,000,000,000,000,000", 1e22: "1e+22",
    1.23456e30: "1.235e+30", 1.5e-6: "0.0000015", 1.23456e-6: "0.000001235", 1e-7: "1e-7", -1.23456e-7: "−1.235e-7",
}  # fmt: skip


def test_no_digit_of_an_amount_is_made_up():
    assert {value: amount(value) for value in AMOUNTS} == AMOUNTS


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_write_amounts_as_python_does():
    values = [*AMOUNTS, *(sign * 1.2345678 * 10.0**power for power in range(-12, 25) for sign in (1, -1))]
    script = resource("mase.render", "static/numbers.js")
    script += f"console.log(JSON.stringify({json.dumps(values)}.map(amount)));"
    command = [NODE, "--input-type=module", "-"]
    found = subprocess.run(command, input=script, capture_output=True, text=True, encoding="utf-8", check=True)
    assert json.loads(found.stdout) == [amount(value) for value in values]


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


def test_the_strongest_pairs_have_a_line():
    pair = Interaction((1, 3), -0.25, 0.01, 0.0301, 0.02)
    assert interaction_line(attribution()) == []
    start = "kept together, beyond the sum of both: “cast” × “superb” −0.250"
    assert interaction_line(attribution(interactions=(pair,))) == [f"{start} ± 0.031"]
    exact = replace(pair, standard_error=0.0, half_width=0.0)
    assert interaction_line(attribution(interactions=(exact,), exact=True)) == [start]
    (line,) = interaction_line(attribution(interactions=(pair,) * 5))
    assert line.count("×") == 3


@pytest.mark.parametrize("made", [attribution, cited])
def test_pages_and_terminals_show_pairs(made):
    plain = made()
    first = replace(plain.responses[0], interactions=(Interaction((0, 1), -0.25, 0.01, 0.03, 0.02),))
    found = replace(plain, responses=(first, *plain.responses[1:]))
    for screen in (page, summary):
        assert "ept together" in screen([found] if screen is page else found)
        assert "ept together" not in screen([plain] if screen is page else plain)
