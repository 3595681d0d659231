"""Tests of `mase.units`: every splitter by its contract, and what `units` may be."""

import re
import sys
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mase
import mase.testing
from mase.errors import DataError, MissingDependencyError, OptionError, UnitsError, UnknownNameError
from mase.units import UNITS, splitter
from mase.units.splitters import Dictionary, Function, Line, Paragraph, Phrase, Regex, Sentence, Word, spans_of


@pytest.mark.parametrize(
    "words",
    [
        ["我们", "明天", "去", "北京", "大学", "读书。"],
        ["私", "は", "「東京」", "で", "勉強"],
        ["ประเทศไทย", "มี", "อากาศ", "ร้อน!"],
        ["𠮷", "野家", "で", "👨‍👩‍👧", "ok!"],
    ],
)
def test_words_of_scripts_without_spaces(words):
    text = "".join(words)
    assert [text[start:end] for start, end in Dictionary().split(text)] == words


def test_other_scripts_are_split_as_words():
    text = "(I don't like it!!) - ok 4.9"
    assert [text[start:end] for start, end in Dictionary().split(text)] == [
        "(I", "don't", "like", "it!!)", "-", "ok", "4.9",
    ]  # fmt: skip


def test_what_to_install_is_said(monkeypatch):
    monkeypatch.setattr("mase.registry.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"icu4py .* 'mase-xai\[icu\]'"):
        Dictionary()


def halves(text):
    return [(len(text) // 2, len(text)), (0, len(text) // 2)]


def test_spans_are_sorted():
    assert Function(halves).split("abcd") == [(0, 2), (2, 4)]


def test_a_function_is_known_by_its_qualified_name():
    assert Function(halves).name == f"{__name__}.halves"


def test_an_error_names_the_function():
    with pytest.raises(UnitsError, match="<lambda> returned the span"):
        Function(lambda text: [(0, 9)]).split("abcd")


@pytest.mark.parametrize(
    "phrases",
    [
        ["The cast is superb,", "but the plot is dull."],
        ["I came,", "saw it", "and left", "because it was long."],
        ["It was long", "(two hours)", "– too long.", "At 4:30,", "3,5", "or 6?"],
        ["今天很好，", "我们去公园。"],
        ["قال لي،", "نعم"],
        ["He came—", "and went"],
        ["no comma"],
    ],
)
def test_phrases_end_at_punctuation_and_before_conjunctions(phrases):
    text = ("" if "今" in phrases[0] else " ").join(phrases)
    assert [text[start:end] for start, end in Phrase().split(text)] == phrases


def test_conjunctions_are_known_of_english_only():
    assert len(Phrase("de").split("Sie ging, and er kam")) == 2


def test_empty_matches_are_no_units():
    assert Regex(re.compile("b*")).split("abba") == [(1, 3)]


@pytest.mark.parametrize(
    "pattern",
    [
        re.compile(r"\w+"),
        re.compile("a.b", re.I | re.S),
        re.compile("(?i)a"),
        re.compile("a b", re.X),
        re.compile("\\w", re.A),
    ],
)
def test_the_name_means_the_same_pattern(pattern):
    again = Regex.parse(Regex(pattern).name)
    assert again.pattern.flags == pattern.flags
    assert again.name == Regex(pattern).name


def test_what_is_no_pattern_of_text():
    with pytest.raises(OptionError, match="expected a regular expression after 're:': missing"):
        Regex.parse("re:(")
    with pytest.raises(OptionError, match="a pattern of bytes"):
        Regex(re.compile(b"a"))


@pytest.mark.parametrize(
    "sentences",
    [
        ["Dr. Smith paid $3.50 at 5 p.m.", "It rained, e.g. in the U.S.", "No final stop"],
        ['He said "I am done."', "Then he left.", '"Really?" she asked.'],
        ["Wait... what?", "I do not know!"],
        ["今天天气很好。", "我们去公园吧！", "好吗？"],
        ["これは本です。", "あれは何ですか？"],
        ["यह पहला वाक्य है।", "यह दूसरा है।"],
        ["مرحبا.", "كيف حالك؟"],
        ["👍👍 good.", "😀 Bad one!", "𠮷野家。"],
        ["One line\nof a sentence.", "Another."],
        ["A heading\n\n", "A text below it."],
    ],
)
def test_sentences_of_many_languages(sentences):
    space = "" if "。" in sentences[0] and sentences[0] != "👍👍 good." else " "
    text = f"  {space.join(sentences)} \n"
    assert [text[start:end] for start, end in Sentence().split(text)] == [one.strip() for one in sentences]


def test_abbreviations_are_those_of_the_language():
    text = "Am 3. Okt. kam er z. B. mit dem Zug."
    assert len(Sentence("de").split(text)) < len(Sentence("en").split(text))
    assert (Sentence("de").name, Sentence().name) == ("sentence(language=de)", "sentence")
    assert len(Sentence("de-at").split(text)) == len(Sentence("de").split(text))


@pytest.mark.parametrize("wrong", [3, "", "german", "DE", "de_DE", "d", "de-", None])
def test_what_is_no_code_of_a_language_is_refused(wrong):
    for unit in (Sentence, Phrase):
        with pytest.raises(OptionError, match=f"language is {wrong!r}, expected the code of a language, such as 'de'"):
            unit(wrong)


def test_sentence_what_to_install_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    monkeypatch.setattr("mase.registry.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"sentencex .* 'mase-xai\[sentences\]'"):
        Sentence()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([(0, 3), (2, 4)], "returned the spans (0, 3) and (2, 4), which overlap"),
        ([(0, 9)], "returned the span (0, 9) for a text of 4 characters"),
        ([(-2, 2)], "returned the span (-2, 2)"),
        ([(2, 2)], "returned the span (2, 2)"),
        ([(0.0, 2.0)], "returned (0.0, 2.0), expected a span (start, end) of two integers"),
        ([(True, 2)], "returned (True, 2)"),
        ([3], "returned 3, expected a span"),
        (["ab"], "returned 'ab'"),
        (["abcd"], "returned 'abcd'"),
        (None, "raised TypeError"),
    ],
)
def test_anything_but_disjoint_spans_is_an_error(returned, message):
    with pytest.raises(UnitsError, match=re.escape(f"mine {message}")):
        spans_of(lambda text: returned, "abcd", "mine")


def test_what_the_splitter_raises_is_told():
    with pytest.raises(UnitsError, match="raised KeyError: 'x'"):
        spans_of(lambda text: {}["x"], "abcd", "mine")
    with pytest.raises(DataError):
        spans_of(lambda text: (_ for _ in ()).throw(DataError("gone")), "abcd", "mine")


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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't like it!!", ["I", "don't", "like", "it!!"]),
        ("state-of-the-art (1987)", ["state-", "of-", "the-", "art", "(1987)"]),
        ("wait...what foo(bar) 'x' \"y z\".", ["wait...", "what", "foo", "(bar)", "'x'", '"y', 'z".']),
        ("a - b --- :) c", ["a", "-", "b", "---", ":)", "c"]),
        ("4.9 mln, $5 or 5% #tag", ["4.9", "mln,", "$5", "or", "5%", "#tag"]),
        ("¿Qué? ¡Sí!¿No? «oui»", ["¿Qué?", "¡Sí!", "¿No?", "«oui»"]),
        ("good👍! ❤️ 👨‍👩‍👧(ok)", ["good", "👍!", "❤️", "👨‍👩‍👧", "(ok)"]),
        ("你好，世界。“是的”《书》", ["你", "好，", "世", "界。", "“是", "的”", "《书》"]),
        ("ดี! มาก", ["ดี!", "มา", "ก"]),
        ("مرحبا، بالعالم!", ["مرحبا،", "بالعالم!"]),
        ("\u200fabc x_y a\x00b", ["\u200fabc", "x_", "y", "a\x00", "b"]),
        (" \n", []),
    ],
)
def test_punctuation_joins_the_word_it_touches(text, expected):
    assert [text[start:end] for start, end in Word().split(text)] == expected


def test_a_method_of_a_built_in_type_is_named():
    with pytest.raises(UnitsError, match=r"builtins\.str\.split returned 'the'"):
        mase.Explainer(lambda texts: [[0.5, 0.5]] * len(texts), units=str.split)("the good")
