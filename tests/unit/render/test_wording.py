"""Tests of `mase.render.wording`."""

import json
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from tests.answers import cited
from tests.attributions import attribution
from tests.unit.render.screens import Visible, printed

import mase
from mase.attribution import Changed, Evidence, Fit, FlipSet, Interaction, Prediction
from mase.links import LINKS
from mase.render.html import page, resource
from mase.render.terminal import summary
from mase.render.wording import (
    amount,
    cost_facts,
    duration,
    effect_lines,
    evidence_facts,
    interaction_line,
    link_meaning,
    meaning,
    measured,
    origin,
    other_responses,
    percent,
    percent_of_all,
    quality_facts,
    share,
    titled,
    top_classes,
    unit,
)
from mase.text import Truncation, find_words


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


FOR, AGAINST = {"superb": 0.25}, {"dull": -0.125}


def cut():
    text = "unread words here superb end"
    return attribution(text, spans=find_words(text)[3:], tokens=(), truncation=Truncation(2, 5, "end"))


def test_a_page_explains_no_mark_that_it_lacks():
    marks = ("solid line", "dashed line", "includes 0", "grey")
    cases = [
        (attribution(scores=FOR), {"solid line"}),
        (attribution(scores=AGAINST), {"dashed line"}),
        (attribution(), {"solid line", "dashed line"}),
        (attribution(scores=FOR, se=1.0), {"solid line", "includes 0"}),
        (cut(), {"solid line", "grey"}),
        (attribution("fine", [0.0]), set()),
    ]
    for made, expected in cases:
        assert {mark for mark in marks if mark in Visible(page([made])).legend} == expected
    together = Visible(page([made for made, _ in cases])).legend
    assert all(mark in together for mark in marks)
    assert Visible(page([])).legend == ""


def test_values_have_no_class_and_no_probability():
    value = Prediction("price", None, None, {}, values={"price": 3.5})
    made = attribution(prediction=value, label="price", link="value")
    told = Visible(page([made])).legend
    assert "increases the value" in told
    assert not re.search("class|probability", told)
    unsigned = Visible(page([replace(made, responses=(replace(made.responses[0], signed=False),))])).legend
    assert "matters to the value, in" in unsigned
    assert "increases the probability of the class" in Visible(page([attribution()])).legend


def test_uncertain_words_are_explained_on_the_side_where_they_are():
    only = page([attribution(scores=FOR, se=1.0)])
    assert re.findall(r"<(\w) l>([^<]*)</\1>: the 95", only) == [("b", "not underlined")]
    both = page([attribution(se=1.0)])
    assert "<b l>not</b> <i l>underlined</i>: the 95" in both


def test_texts_are_headed_by_the_sides_that_they_have():
    for made, said, other in [
        (attribution(scores=FOR), "for", "against"),
        (attribution(scores=AGAINST), "against", "for"),
    ]:
        assert re.search(rf"words {said}\S? pos", printed(made))
        assert other not in printed(made).splitlines()[0]
        assert f"Words {said} pos" in Visible(page([made])).text
    assert re.search(r"words for\S? and against\S? pos", printed(attribution()))
    nothing = attribution("fine", [0.0])
    assert "⁺" not in printed(nothing)
    assert "no word for or against pos" in printed(nothing)
    assert "No word for or against pos" in Visible(page([nothing])).text


def test_the_reading_of_a_page_is_of_what_it_has():
    plain = Visible(page([attribution()])).text
    assert "R² is" in plain
    assert "Split-half" not in plain
    assert "Held out is" not in plain
    assert "Held out is" in Visible(page([attribution(r2_held_out=0.9)])).text
    told = replace(attribution().fit, split_half=0.9)
    other = Visible(page([attribution(fit=told, r2=None)])).text
    assert "R² is" not in other
    assert "Split-half says" in other
    assert "Shades" not in Visible(page([attribution("fine", [0.0])])).text
    assert "Point at" not in Visible(page([])).text


@pytest.mark.parametrize(("effect", "opposite"), [("kept", "removed"), ("removed", "kept")])
def test_the_reading_of_a_page_explains_its_further_effects_and_pairs(effect, opposite):
    first = attribution().responses[0]
    values = {effect: tuple(2 * score for score in first.scores), f"{effect}_error": first.standard_errors}
    two = replace(attribution(), responses=(replace(first, effects=values),))
    plain, told = Visible(page([attribution()])).text, Visible(page([two])).text
    reading = told[told.index("A score says") :]
    where = {"kept": "Beside the other strong words", "removed": "Without the other strong words"}
    assert where[effect] in reading
    assert where[opposite] not in reading
    assert "other strong" not in plain
    pair = replace(attribution(), responses=(replace(first, interactions=(Interaction((0, 1), 1.0, 0.1, 0.2, 0.1),)),))
    assert "act together" in Visible(page([pair])).text.lower().partition("a score says")[2]
    assert "act together" not in plain.lower()


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


NODE = shutil.which("node")


AMOUNTS = {
    0.0: "0", 1.0: "1", 0.99996: "1.000", 0.8: "0.8", 1.0625: "1.063", -2.5: "−2.5", 9999.4: "9999", 9999.5: "10,000",
    10000.5: "10,001", -123456.7: "−123,457", 1e6: "1,000,000", 1.5e20: "150,000,000,000,000,000,000", 1e22: "1e+22",
    1.23456e30: "1.235e+30", 1.5e-6: "0.0000015", 1.23456e-6: "0.000001235", 1e-7: "1e-7", -1.23456e-7: "−1.235e-7",
}  # fmt: skip


def test_shares_and_times_are_not_rounded_to_what_they_are_not():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert [percent_of_all(share) for share in (1.0, 0.99999, 0.5)] == ["100 %", "> 99.9 %", "50.0 %"]
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]


def test_no_digit_of_an_amount_is_made_up():
    assert {value: amount(value) for value in AMOUNTS} == AMOUNTS


def written_by_script(function, values):
    """Return what a function of the script makes of each of some numbers."""
    script = resource("mase.render", "static/numbers.js")
    script += f"console.log(JSON.stringify({json.dumps(values)}.map({function})));"
    command = [NODE, "--input-type=module", "-"]
    found = subprocess.run(command, input=script, capture_output=True, text=True, encoding="utf-8", check=True)
    return json.loads(found.stdout)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_write_amounts_as_python_does():
    values = [*AMOUNTS, *(sign * 1.2345678 * 10.0**power for power in range(-12, 25) for sign in (1, -1))]
    assert written_by_script("amount", values) == [amount(value) for value in values]


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_scripts_round_shares_as_python_does():
    """Trees that vote give shares that are in the middle between two of those that are written, such as 13/16."""
    shares = [*(n / 64 for n in range(65)), *(n / 2000 for n in range(2001))]
    found = [text.replace("\u00a0", " ") for text in written_by_script("percent", shares)]
    assert found == [percent(value) for value in shares]
    signed = shares + [-value for value in shares if value]
    assert written_by_script("share", signed) == [share(value) for value in signed]


def test_a_page_says_that_nothing_matters():
    def hardly(texts):
        return [[0.6 + 1e-4 * ("good" in text), 0.4 - 1e-4 * ("good" in text)] for text in texts]

    found = mase.explain("a good film", hardly)
    page = found.to_html()
    assert "Nothing matters" in page
    assert "Read with care" not in page
    assert 'class="evidence' not in page.replace("class=evidence", 'class="evidence')


def test_a_legend_speaks_of_the_class_where_its_probability_decides():
    def logits(texts):
        return np.array([[1.5 * ("great" in text), -1.0, 2.0 * ("loud" in text)] for text in texts])

    model = mase.models.Callable(logits, labels=["pos", "neg", "neu"], outputs="logits")
    for options, explained in (({}, "class"), ({"against": "neg"}, "number"), ({"link": "logit"}, "number")):
        page = mase.explain("a great loud film", model, target="pos", **options).to_html()
        assert ("increases the probability of the class" in page) == (explained == "class")
        assert ("increases the explained number" in page) == (explained == "number")


def test_a_contrast_of_separate_questions_is_a_ratio_of_odds():
    model = mase.models.Callable(
        lambda texts: [[0.3 + 0.2 * ("good" in text), 0.7] for text in texts], labels=["A", "B"], multilabel=True
    )
    found = mase.explain("a good film", model, target="A", against="B")
    assert "ratio of both odds" in (link_meaning(found) or "")


def test_an_effect_without_errors_is_not_shown():
    made = attribution(effects={"kept": (0.5,) * len(attribution().units)})
    assert made.responses[0].effect_names == ()
    assert effect_lines(made) == []
