import pytest

from mase.document import Document, check_text
from mase.errors import InvalidTextError, ShapeError
from mase.text import Tokens, Truncation, find_words, joins


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
