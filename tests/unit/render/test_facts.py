"""Tests of `mase.render.facts`."""

from dataclasses import replace

import pytest
from tests.answers import cited
from tests.attributions import attribution

from mase.attribution import Changed, Evidence, Fit, FlipSet, Interaction, Prediction
from mase.render.facts import (
    cost_facts,
    effect_lines,
    evidence_facts,
    interaction_line,
    measured,
    origin,
    other_responses,
    quality_facts,
    titled,
    top_classes,
    unit,
)
from mase.render.html import page
from mase.render.terminal import summary


def test_facts():
    known = attribution(r2=0.999, r2_held_out=-0.25, fit=Fit(1.0, 1.0, 12_345, 7, 61.0))
    assert quality_facts(known) == ["R² > 0.99", "held out −0.25", "split-half 1.00"]
    assert cost_facts(known) == ["the model was asked 12,345 times", "7 gradients", "1 min 1 s"]
    unknown = attribution(r2=None, fit=Fit(None, None, 2, 0, 1.0))
    assert (quality_facts(unknown), cost_facts(unknown)) == ([], ["the model was asked 2 times", "1.0 s"])
    exact = attribution(fit=Fit(None, 1.0, 17, 0, 1.0), exact=True, r2=0.5, se=0.0)
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
    odd = origin(attribution(model={"name": "m", "sha256": "\x1b[31m\ud800"}))[0]
    assert odd.encode().isascii() is False
    assert "\x1b" not in odd


def test_the_unit_of_the_scores_is_told():
    assert unit(attribution()) == "probability of pos"
    assert unit(attribution(link="margin", against="neg")) == "margin of pos rather than neg in log-odds"
    assert unit(cited()) == "log-odds of answer"
    assert unit(attribution(signed=False)) == "importance for the probability of pos"
    unsigned = attribution(link="margin", against="neg", signed=False)
    assert unit(unsigned) == "importance for the margin of pos rather than neg"
    assert unit(attribution(label="p" * 100)) == f"probability of {'p' * 79}…"


def evidence(units, response="pos"):
    """Return evidence that these units are not enough, and that the first one flips the prediction."""
    tested = Changed(units, "neg", 0.8, 0.2, 0.2), Changed(units, "pos", 0.9, 0.9, 0.9)
    return Evidence((tested[0],), (tested[1],), FlipSet(units[:1], "neg", 0.6, False), response)


def test_the_units_that_were_tested_are_named_by_their_order():
    text, scores = "a b c d e f", [0.5, 0.4, 0.3, 0.2, -0.6, 0.1]
    words = attribution(text, scores, evidence=evidence((0, 1, 2, 3)))
    flip = "without “a”: neg 60.0 %, a small set that flips it"
    assert evidence_facts(words) == [
        flip, "without the 4 words most for pos: neg 80.0 %; with them alone: pos 90.0 %",
    ]  # fmt: skip
    ordered = attribution(text, scores, order=(3, 2, 1, 0, 4, 5), evidence=evidence((3, 2, 1, 0)))
    assert evidence_facts(ordered)[1].startswith("without the 4 strongest words: ")
    unsigned = attribution(text, scores, signed=False, evidence=evidence((0, 1, 2, 3)))
    assert evidence_facts(unsigned)[1].startswith("without the 4 strongest words: ")
    assert evidence_facts(attribution(text, scores, evidence=evidence((0, 1))))[1].startswith("without “a” and “b”: ")
    whole = attribution("a b c d", scores[:4], evidence=evidence((0, 1, 2, 3)))
    assert evidence_facts(whole) == [flip]


def test_labels_read_from_right_to_left_are_kept_apart_from_numbers():
    arabic = "\u2068إيجابي\u2069"
    made = attribution("جميل", [0.5], label="إيجابي", other="سلبي", against="سلبي", link="margin")
    assert titled(made) == f"{arabic} rather than \u2068سلبي\u2069"
    assert f"margin of {arabic} rather than" in unit(made)
    two = replace(made, responses=(made.responses[0], replace(made.responses[0], name="سلبي", against=None)))
    assert other_responses(two)[0].startswith("\u2068سلبي\u2069: margin 0.8; “\u2068جميل\u2069” +0.500")


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
    start = "act together: “cast” and “superb” −0.250"
    assert interaction_line(attribution(interactions=(pair,))) == [f"{start} ± 0.031"]
    exact = replace(pair, standard_error=0.0, half_width=0.0)
    assert interaction_line(attribution(interactions=(exact,), exact=True)) == [start]
    (line,) = interaction_line(attribution(interactions=(pair,) * 5))
    assert line.count("“cast”") == 3


@pytest.mark.parametrize("effect", ["kept", "removed"])
def test_further_effects_have_a_line_on_pages_and_terminals(effect):
    plain = attribution("good bad film a b", [0.5, -0.25, 0.125, 0, 0])
    values, errors = (0.1, -0.3, 0.2, 0.02, 0.0), (0.01, 0.02, 0.0, 0.0, 0.0)
    found = replace(
        plain, responses=(replace(plain.responses[0], effects={effect: values, f"{effect}_error": errors}),)
    )
    (line,) = effect_lines(found)
    assert line.endswith(": “bad” −0.300 ± 0.040, “film” +0.200 ± 0.000, “good” +0.100 ± 0.020")
    where = line.partition(":")[0]
    for screen in (lambda one: page([one]), summary):
        assert where[1:] in screen(found)
        assert where[1:] not in screen(plain)
    assert effect_lines(plain) == []
    assert effect_lines(with_effect("good film", effect, (0.0, 0.0))) == []
    assert effect_lines(with_effect("good", effect, (0.5,))) == []
    (line,) = effect_lines(with_effect(f"{'x' * 60} film", effect, (0.5, 0.0)))
    assert line.endswith(f"“{'x' * 27}…” +0.500 ± 0.196")
    same = with_effect("good film", effect, (0.5, 0.25))  # an effect that is no other than the score is left out
    first = replace(same.responses[0], scores=(0.5, 0.125))
    assert effect_lines(replace(same, responses=(first,)))[0].endswith(": “film” +0.250 ± 0.196")


def with_effect(text, effect, values):
    plain = attribution(text, [value / 2 for value in values])
    effects = {effect: values, f"{effect}_error": (0.1,) * len(values)}
    return replace(plain, responses=(replace(plain.responses[0], effects=effects),))


@pytest.mark.parametrize("made", [attribution, cited])
def test_pages_and_terminals_show_pairs(made):
    plain = made()
    first = replace(plain.responses[0], interactions=(Interaction((0, 1), -0.25, 0.01, 0.03, 0.02),))
    found = replace(plain, responses=(first, *plain.responses[1:]))
    for screen in (page, summary):
        assert "ct together" in screen([found] if screen is page else found)
        assert "ct together" not in screen([plain] if screen is page else plain)


def test_the_tested_number_is_named_where_it_is_no_probability():
    text, scores, tested = "a b c", [0.5, 0.4, 0.3], (0, 1)
    numbers = [Changed(tested, "pos", None, None, value) for value in (0.25, -3.0)]
    of_values = Evidence((numbers[0],), (numbers[1],), None, "pos")
    made = attribution(text, scores, link="log-probability", against="neg", evidence=of_values)
    expected = "without “a” and “b”: 0.25; with them alone: −3 (log-probability of pos rather than neg)"
    assert evidence_facts(made) == [expected]
    of_one = attribution(text, scores, link="value", evidence=of_values)
    assert evidence_facts(of_one) == ["without “a” and “b”: pos 0.25; with them alone: pos −3"]
