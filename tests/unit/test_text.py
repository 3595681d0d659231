import pytest

from mase.document import Document, check_text
from mase.errors import InvalidTextError, ShapeError
from mase.text import Tokens, find_words, joins


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
