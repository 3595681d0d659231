"""Tests of `mase.text`: a reader sees each of these as one character; Tests of `mase.text`."""

import pytest

from mase.document import Document, check_text
from mase.errors import InvalidTextError, ShapeError
from mase.text import Tokens, Truncation, Words, boundary, find_words, joins, shortened
from mase.units.splitters import coordinates, members

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


# A special token, a word of two tokens, one of one, white space, and a word of which no token is left.
WORDS = Words(((0, 8), (9, 12), (13, 14)), (-1, 0, 0, 1, -1))


def test_tokens_of_a_word_share_its_coordinate():
    found = coordinates(WORDS, per_token=False)
    assert found.tolist() == [-1, 0, 0, 1, -1]
    assert [one.tolist() for one in members(WORDS, found)] == [[0], [1], []]


def test_tokens_have_coordinates_of_their_own():
    found = coordinates(WORDS, per_token=True)
    assert found.tolist() == [-1, 0, 1, 2, -1]
    assert [one.tolist() for one in members(WORDS, found)] == [[0, 1], [2], []]


def words(text):
    return [text[start:end] for start, end in find_words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I don't like it!!", ["I", "don't", "like", "it", "!!"]),
        ("state-of-the-art (1987)", ["state", "-", "of", "-", "the", "-", "art", "(", "1987", ")"]),
        ("4.9 mln vs 350,000, up 3.", ["4.9", "mln", "vs", "350,000", ",", "up", "3", "."]),
        ("naïve cafe\u0301", ["naïve", "cafe\u0301"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("很好看", ["很", "好", "看"]),
        ("great 👍🏽 ❤️", ["great", "👍🏽", "❤️"]),
        ("👨‍👩‍👧 ok", ["👨‍👩‍👧", "ok"]),
        ("مرحبا بالعالم", ["مرحبا", "بالعالم"]),
        ("won\xadder\xadful now\u2060here \u200fabc", ["won\xadder\xadful", "now\u2060here", "\u200f", "abc"]),
        ("ᠮᠣᠩᠭᠣᠯ\u180eᠠ zero\ufeffwidth", ["ᠮᠣᠩᠭᠣᠯ\u180eᠠ", "zero\ufeffwidth"]),
        ("\U00011103\U00011127\U00011107", ["\U00011103\U00011127\U00011107"]),
        ("ประเทศไทย ๑๒๓", ["ป", "ระ", "เท", "ศ", "ไท", "ย", "๑๒๓"]),
        ("ສະບາຍດີ", ["ສະ", "ບາ", "ຍ", "ດີ"]),
        ("មិត្ត", ["មិ", "ត្ត"]),
        ("မြန်မာ", ["မြန်", "မာ"]),
        ("人々と𠮷野", ["人", "々", "と", "𠮷", "野"]),
        ("ﾊﾟｿｺﾝとｶﾞﾗｽ", ["ﾊﾟ", "ｿ", "ｺ", "ﾝ", "と", "ｶﾞ", "ﾗ", "ｽ"]),
        ('צה״ל וארה"ב "שלום" ג׳ירפה', ["צה״ל", 'וארה"ב', '"', "שלום", '"', "ג׳ירפה"]),
        ("٣٫١٤ ١٬٠٠٠، ３．５，１", ["٣٫١٤", "١٬٠٠٠", "،", "３．５", "，", "１"]),
        ("col·lega · 列夫·托", ["col·lega", "·", "列", "夫", "·", "托"]),
        ("2·3 x·2 2·x", ["2", "·", "3", "x", "·", "2", "2", "·", "x"]),
        ("snake_case", ["snake", "_", "case"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("open", "source", True), ("open", "-", False), ("我", "们", False), ("สวัส", "ดี", False), ("ok", "ครับ", False)],
)
def test_words_of_scripts_without_spaces_do_not_join(left, right, expected):
    assert joins(left, right) is expected


@pytest.mark.parametrize("text", [b"bytes", None, 3, "half \ud800 pair"])
def test_invalid_text(text):
    with pytest.raises(InvalidTextError):
        check_text(text)


def test_tokens_of_unequal_lengths():
    with pytest.raises(ShapeError):
        Tokens(Document.of("a"), (1, 2), ("a",), ((0, 1),), (False,))


def tokens(document, *pieces, **options):
    """Return the tokens of a document that cover these pieces of it."""
    document = Document.of(document)
    starts = [document.text.index(piece) for piece in pieces]
    spans = tuple((start, start + len(piece)) for start, piece in zip(starts, pieces, strict=True))
    return Tokens(document, tuple(range(len(pieces))), pieces, spans, (False,) * len(pieces), **options)


@pytest.mark.parametrize(
    ("document", "read", "unread"),
    [
        ("a good film - bad!", ["good", "film"], ["a", "bad"]),
        ("a good film", ["a", "goo", "film"], []),
        ("a film", [], ["a", "film"]),
        ("很好看", ["很", "看"], ["好"]),
        ("a<br />film <b class='x'>it</b> 1 < b > 2", ["a", "film"], ["it", "1", "b", "2"]),
        (("a film", "bad one"), ["a", "one"], ["film", "bad"]),
    ],
)
def test_words_without_a_token(document, read, unread):
    found = tokens(document, *read)
    assert [found.text[start:end] for start, end in found.unread()] == unread


@pytest.mark.parametrize(("kept", "read"), [("start", ["a", "film", "bad"]), ("end", ["good", "film", "one"])])
def test_words_that_are_cut_off_are_not_counted(kept, read):
    found = tokens("a good film bad one", *read, truncation=Truncation(3, 5, kept))
    assert [found.text[start:end] for start, end in found.unread()] == ["good" if kept == "start" else "bad"]


def test_special_tokens_are_read():
    assert tokens("a SEP film", "a", "film", special=((2, 5),)).unread() == []
