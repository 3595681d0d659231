"""Tests of `mase.characters`: a reader sees each of these as one character."""

import pytest

from mase.characters import boundary, shortened

SEEN_AS_ONE = {
    "letter": "a",
    "letter with a mark": "e\u0301",
    "letter with many marks": "a" + "\u0301" * 20,
    "family": "👨‍👩‍👧",
    "flag": "🇩🇪",
    "flag of a part of a country": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "tone of skin": "👍🏽",
    "key": "1\ufe0f\u20e3",
    "heart": "❤\ufe0f",
    "Korean syllable": "각",
    "Korean syllable in parts": "\u1112\u1161\u11ab",
    "Devanagari": "ते",
    "Thai": "กำ",
    "line end": "\r\n",
}


@pytest.mark.parametrize("one", SEEN_AS_ONE.values(), ids=SEEN_AS_ONE)
@pytest.mark.parametrize("around", ["x", "🇫🇷", "é", "👩‍👧"])
def test_a_cut_is_never_inside_of_a_character(one, around):
    text = around + one + one + around
    ends = [0, len(around), len(around + one), len(around + one + one), len(text)]
    for at in range(len(text) + 1):
        assert boundary(text, at) == max(end for end in ends if end <= at)
    assert (boundary(text, -3), boundary(text, 10**6)) == (0, len(text))


def test_a_text_of_marks_without_end_is_cut_anywhere():
    text = "a" + "\u0301" * 1000
    assert boundary(text, 500) == 500
    assert boundary(text, 10) == 0


def test_a_shortened_text_says_that_it_is():
    assert [shortened("ab👍🏽", longest) for longest in (5, 4, 3, 2, 1)] == ["ab👍🏽", "ab👍🏽", "ab…", "a…", "…"]
    assert shortened("🇩🇪🇫🇷🇮🇹", 4) == "🇩🇪…"
    assert shortened("", 0) == ""
