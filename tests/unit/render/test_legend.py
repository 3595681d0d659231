"""Tests of `mase.render.legend`."""

import re
from dataclasses import replace

import pytest
from tests.attributions import attribution
from tests.unit.render.screens import Visible, printed

from mase.attribution import Interaction, Prediction
from mase.render.html import page
from mase.text import Truncation, find_words

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
