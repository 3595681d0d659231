"""Tests of `mase.results`."""

import pytest

from mase.document import Document
from mase.results import unread_notes
from mase.text import Tokens


def tokens(text):
    """Return the tokens of a text of which nothing is read but its first character."""
    return Tokens(Document.of(text), (1,), (text[:1],), ((0, 1),), (False,))


@pytest.mark.parametrize(
    ("texts", "listed"),
    [
        (["- two three", "- two four"], "'two', 'three', 'four'"),
        (["- a b c d e f"], "'a', 'b', 'c', 'd', 'e' and 1 more"),
        ([f"- {'long' * 1000} word"], f"'{'long' * 14}lon, 'word'"),
    ],
)
def test_words_without_a_token_are_listed_once_the_first_of_them_and_in_short(texts, listed):
    (note,) = unread_notes(*map(tokens, texts))
    assert note.code == "unread-words"
    assert f"no token for {listed}: " in note.message


def test_there_is_no_note_if_all_words_are_read():
    assert unread_notes(tokens("a ."), tokens("b")) == ()
