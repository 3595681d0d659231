"""Tests of `mase.units`: every splitter by its contract, and what `units` may be."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mase
import mase.testing
from mase.errors import OptionError, UnknownNameError
from mase.units import UNITS, splitter
from mase.units.line import Line
from mase.units.paragraph import Paragraph

# Letters of scripts with and without spaces, marks, punctuation of every kind, emoji, and all kinds of white space.
CHARACTERS = (
    "aB3é\u0301我カ々กำเ็្មြန်។ދ\u05d0\u0640.,;:!?…。，！’\"'“”()«»-–—/_#$+\x00\u200b\u200f\xad👍\ufe0f\u200d𠮷"
    " \n\r\t\x85\u2028\u2029\u3000"
)


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from(CHARACTERS) | st.characters(codec="utf-8"), max_size=60))
@example("He said: “No.” (Then) he left\n\nand -- stayed…")
@example("។ក្រុម ပြောင်း。“我们”的 ʼn")
def test_units_are_in_order_disjoint_and_cover_what_is_visible(text):
    for name in UNITS:
        made = splitter(name)
        spans = made.split(text)
        assert all(0 <= start < end <= len(text) for start, end in spans), name
        assert all(first[1] <= second[0] for first, second in pairwise(spans)), name
        if made.complete:
            outside = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *spans, (len(text), 0)])]
            assert not "".join(outside).strip(), name
            assert all(text[start:end].strip() for start, end in spans), name


def test_sentences_have_whole_words_and_phrases():
    text = "Dr. No is dull, but (oddly) fine. “Really?” she asked."
    for inner, outer in (("word", "phrase"), ("phrase", "sentence"), ("sentence", "line"), ("line", "paragraph")):
        ends = {end for _, end in splitter(inner).split(text)}
        assert {end for _, end in splitter(outer).split(text)} <= ends


@pytest.mark.parametrize(
    ("text", "lines", "paragraphs"),
    [
        ("one\ntwo", ["one", "two"], ["one\ntwo"]),
        (" a \r\n\r\n b\r\nc \n \t\nd", ["a", "b", "c", "d"], ["a", "b\r\nc", "d"]),
        ("a\u2029b\u2028c", ["a", "b", "c"], ["a", "b\u2028c"]),
        ("\n\n", [], []),
    ],
)
def test_lines_and_paragraphs(text, lines, paragraphs):
    assert [text[start:end] for start, end in Line().split(text)] == lines
    assert [text[start:end] for start, end in Paragraph().split(text)] == paragraphs


def test_units_are_a_name_a_pattern_or_a_function():
    assert splitter("sentence(language=de)").name == "sentence(language=de)"
    assert splitter("re:a+").split("baa") == splitter(re.compile("a+")).split("baa") == [(1, 3)]
    assert splitter(lambda text: [(0, 1)]).split("abc") == [(0, 1)]
    made = splitter("word")
    assert splitter(made) is made
    with pytest.raises(UnknownNameError, match="did you mean 'sentence'"):
        splitter("sentences")
    with pytest.raises(UnknownNameError, match="setting of unit 'sentence'"):
        splitter("sentence(lang=de)")
    with pytest.raises(OptionError, match="units is 3, expected one of word, "):
        splitter(3)


def test_scores_of_units_of_any_size_are_those_of_an_additive_function():
    """The worth of a sentence is the sum of the worths of its words; what is in no unit is never out."""
    worth = {"good": 1.0, "dull": -2.0, "fine": 0.5}
    text = "The cast is good. The plot is dull, but fine."
    expected = {"sentence": [1.0, -1.5], "phrase": [1.0, -2.0, 0.5], "re:good|dull": [1.0, -2.0], "line": [-0.5]}
    for units, scores in expected.items():
        found = mase.Explainer(mase.testing.LogisticClassifier(worth), units=units, link="logit", n_samples=64)(text)
        sign = 1.0 if found.target == "1" else -1.0
        assert (sign * found.scores).tolist() == pytest.approx(scores, abs=1e-6)
        assert found.method["units"] == units
