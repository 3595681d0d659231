"""Tests of `mase.render.pieces`."""

from hypothesis import given
from hypothesis import strategies as st
from tests.attributions import attribution

from mase.attribution import Token, Word
from mase.render.facts import cut_off
from mase.render.pieces import inline, pieces, visible
from mase.text import Truncation, find_words


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), shift=st.integers(-3, 3))
def test_pieces_are_the_text_whatever_the_spans(text, shift):
    spans = [(max(0, start + shift), max(0, end + shift)) for start, end in find_words(text)]
    words = tuple(Word(text[a:b], a, b, 0.1, 0.01) for a, b in spans)
    found = pieces(attribution(text, word_scores=words), longest_unread=10)
    assert "".join(piece.text for piece in found) == visible(text)


def test_what_was_cut_off_is_unread_and_shortened():
    text = "aaaa " * 100 + "the end"
    kept = tuple(word for word in attribution(text).word_scores if word.start >= 500)
    last = attribution(text, word_scores=kept, tokens=(), truncation=Truncation(2, 102, "end"))
    assert pieces(last, longest_unread=1000)[0].text == "aaaa " * 100
    assert pieces(last, longest_unread=10)[0].text == "[490 characters] … aaaa aaaa "
    assert [piece.unread for piece in pieces(last, longest_unread=10)] == [True, False, False, False]
    assert cut_off(last) == "the model read only the last 2 of 102 tokens"
    first = attribution(
        text, tokens=(Token("aaaa", 0, 4, 0, 0.0),), word_scores=(), truncation=Truncation(1, 102, "start")
    )
    assert pieces(first, longest_unread=9)[-1].text == " aaaa aaa … [494 characters]"
    assert cut_off(first) == "the model read only the first 1 of 102 tokens"


def test_characters_that_command_are_made_visible():
    assert visible("a\x00b\x1b[2Jc\x9bd\x7f") == "a␀b␛[2Jc⟨009B⟩d␡"
    assert visible("\u202eevil\u2066") == "⟨202E⟩evil⟨2066⟩"
    assert visible("\ud800") == "⟨D800⟩"
    assert visible("line\r\nnext\tcell مرحبا 👍🏽") == "line\nnext\tcell مرحبا 👍🏽"
    assert inline("a\nb\tc") == "a␊b␉c"
