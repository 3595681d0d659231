"""Tests of `mase.pipeline`."""

from dataclasses import replace

import pytest

from mase.document import Document
from mase.pipeline import unknown_notes, unread_notes
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


@pytest.mark.parametrize(
    ("ids", "share"), [((7, 7, 7, 0), "100%"), ((7, 7, 1, 7), "66%"), ((7, 1, 1, 7), None), ((0, 0, 0, 7), None)]
)
def test_a_text_of_which_half_is_unknown_gets_a_note(ids, share):
    """The last token is one that the tokenizer adds."""
    spans, fixed = ((0, 2), (3, 5), (6, 8), None), (False, False, False, True)
    read = Tokens(Document.of("да он ты"), ids, ("",) * 4, spans, fixed, unknown_id=7)
    found = [(note.code, note.message.split()[0]) for note in unknown_notes(read)]
    assert found == ([] if share is None else [("unknown-words", share)])


def test_tokens_are_counted_over_all_windows():
    parts = [replace(tokens("- a"), ids=(token,), unknown_id=7) for token in (7, 1, 7)]
    (note,) = unknown_notes(*parts)
    assert note.message.startswith("66% of the tokens")
    assert "('-')" in note.message
    assert unknown_notes(*parts[1:2]) == unknown_notes(*parts[:2], parts[1]) == ()
