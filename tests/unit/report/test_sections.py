"""Tests of `mase.report.sections`."""

import re

import pytest
from tests.summaries import phrase, push, summary, word

from mase.report.rows import Limits
from mase.report.sections import class_sections, difference_lists, none_found, rules, verdict
from mase.summary.effects import Family
from mase.summary.overview import Distribution

LIMITS = Limits(10, 3, 10)


@pytest.mark.parametrize(("n", "is_told"), [(5, False), (3, True)])
def test_a_fit_that_some_explanations_lack_is_said_of_the_others(n, is_told):
    quality = (Distribution("r2", n, 0.9, -0.2, 0.7, 0.8, 0.93, 0.97, 0.99, 1.0),)
    (sentence,) = (one for one in verdict(summary(quality=quality, run=range(6))) if "R²" in one)
    assert (f"of {n} explanations" in sentence) == is_told


def test_what_was_not_tested_is_no_finding():
    found = summary(families=(Family("words", 300, 0), Family("phrases", 0, 0), Family("wrong", 0, 0)))
    told = none_found(found)
    assert told["words"] == "No word passes the test."
    assert told["phrases"] == "No phrase occurs in 20 texts."
    assert told["wrong"] == "No word occurs in 20 wrong predictions of one class."
    assert "0 of 0" not in " ".join(rules(found))
    assert "0 of 300 words." in " ".join(rules(found))
    assert "Found of tested: none were tested." in " ".join(rules(summary(families=())))


def test_the_lists_of_a_class_say_why_they_are_empty():
    families = (Family("words", 300, 3), Family("phrases", 0, 0))
    (section,) = class_sections(summary(labels=("pos",), words=[word()], phrases=(), families=families), LIMITS)
    assert [(one.title, one.empty) for one in section.lists if not one.rows] == [
        ("Words away from", "No word passes the test."),
        ("Phrases towards", "No phrase occurs in 20 texts."),
        ("Phrases away from", "No phrase occurs in 20 texts."),
    ]


def test_no_number_of_a_list_looks_like_none():
    words = [word("a", effect=2.0), word("b", direction="away", effect=0.004)]
    (section,) = class_sections(summary(labels=("pos",), words=words, phrases=()), LIMITS)
    shown = [row.cells[0].text for one in section.lists for row in one.rows]
    assert shown == ["+2.000 ± 0.100", "−0.004 ± 0.100"]
    pushes = summary(wrong=(push("a", difference=1.5), push("b", difference=-0.006)))
    (found,) = difference_lists(pushes, LIMITS)["wrong"]
    assert [row.cells[0].text for row in found.rows] == ["+1.500 ± 0.050", "−0.006 ± 0.050"]


def test_the_lists_of_a_class_have_one_scale():
    words = [word("a", effect=2.0), word("b", direction="away", effect=0.5)]
    (section,) = class_sections(summary(labels=("pos",), words=words, phrases=(phrase(effect=1.0),)), LIMITS)
    lengths = {}
    for row in (row for one in section.lists for row in one.rows):
        first, last = map(float, re.match(r"M([\d.]+) 2H([\d.]+)v8", row.bar).groups())
        lengths[row.word] = abs(last - first)
    assert lengths["a"] > 1.9 * lengths["not good"] > 3.7 * lengths["b"]
