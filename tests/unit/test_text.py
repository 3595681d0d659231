import pytest

from mase.document import Document, check_text
from mase.errors import InvalidTextError, ShapeError
from mase.text import Tokens, find_words, group_words


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
        ("\U00011103\U00011127\U00011107", ["\U00011103\U00011127\U00011107"]),
        ("snake_case", ["snake", "_", "case"]),
        ("", []),
        (" \t\n", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


def tokens(text, spans, fixed=None):
    n = len(spans)
    return Tokens(Document.of(text), tuple(range(n)), ("x",) * n, tuple(spans), tuple(fixed or (False,) * n))


def test_subwords_belong_to_their_word():
    text = "unbelievable film"
    grouped = group_words(tokens(text, [None, (0, 2), (2, 12), (13, 17), None], [True, False, False, False, True]))
    assert [text[s:e] for s, e in grouped.spans] == ["unbelievable", "film"]
    assert grouped.of_token == (-1, 0, 0, 1, -1)


def test_a_token_over_two_words_makes_them_one():
    grouped = group_words(tokens("a b c", [(0, 3), (4, 5)]))
    assert grouped.spans == ((0, 3), (4, 5))
    assert grouped.of_token == (0, 1)


def test_a_token_of_no_word_is_a_word_and_one_of_no_width_joins_the_next():
    grouped = group_words(tokens("a \x00 b", [(0, 1), (1, 4), (5, 5), (5, 6)]))
    assert grouped.of_token == (0, 1, 2, 2)


def test_white_space_in_tokens_is_no_part_of_words():
    """Byte-level tokenizers (GPT-2) count the space before a word into its token, and have tokens of spaces."""
    text = "An unbelievably  good film "
    grouped = group_words(tokens(text, [(0, 2), (2, 12), (12, 15), (15, 16), (16, 21), (21, 26), (26, 27)]))
    assert [text[s:e] for s, e in grouped.spans] == ["An", "unbelievably", "good", "film"]
    assert grouped.of_token == (0, 1, 1, 2, 2, 3, -1)
    assert len(group_words(tokens("  ", [(0, 1), (1, 2)]))) == 0


def test_words_without_tokens_are_left_out():
    assert group_words(tokens("one two", [(4, 7)])).spans == ((4, 7),)


@pytest.mark.parametrize("text", [b"bytes", None, 3, "half \ud800 pair"])
def test_invalid_text(text):
    with pytest.raises(InvalidTextError):
        check_text(text)


def test_tokens_of_unequal_lengths():
    with pytest.raises(ShapeError):
        Tokens(Document.of("a"), (1, 2), ("a",), ((0, 1),), (False,))
