"""Tests of `mase.render.pieces`."""

from hypothesis import given
from hypothesis import strategies as st
from tests.attributions import attribution, two_fields

from mase.attribution import Token
from mase.render.facts import cut_off
from mase.render.pieces import inline, isolated, pieces, visible
from mase.text import Truncation, find_words


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), shift=st.integers(-3, 3))
def test_pieces_are_the_text_whatever_the_spans(text, shift):
    spans = [(max(0, start + shift), max(0, end + shift)) for start, end in find_words(text)]
    found = pieces(attribution(text, [0.1] * len(spans), spans=spans), longest_unread=10)
    assert "".join(piece.text for piece in found) == visible(text)


def test_what_was_cut_off_is_unread_and_shortened():
    text = "aaaa " * 100 + "the end"
    last = attribution(text, spans=find_words(text)[-2:], tokens=(), truncation=Truncation(2, 102, "end"))
    assert pieces(last, longest_unread=1000)[0].text == "aaaa " * 100
    assert pieces(last, longest_unread=10)[0].text == "[490 characters] … aaaa aaaa "
    assert [piece.unread for piece in pieces(last, longest_unread=10)] == [True, False, False, False]
    assert cut_off(last) == "the model read only the last 2 of 102 tokens"
    token = Token("aaaa", "text", 0, 4, None)
    first = attribution(text, spans=[], tokens=(token,), truncation=Truncation(1, 102, "start"))
    assert pieces(first, longest_unread=9)[-1].text == " aaaa aaa … [494 characters]"
    assert cut_off(first) == "the model read only the first 1 of 102 tokens"


def test_characters_that_command_are_made_visible():
    assert visible("a\x00b\x1b[2Jc\x9bd\x7f") == "a␀b␛[2Jc⟨009B⟩d␡"
    assert visible("\u202eevil\u2066") == "⟨202E⟩evil⟨2066⟩"
    assert visible("\ud800") == "⟨D800⟩"
    assert visible("line\r\nnext\tcell مرحبا 👍🏽") == "line\nnext\tcell مرحبا 👍🏽"
    assert inline("a\nb\tc") == "a␊b␉c"


def test_fields_are_shown_one_below_the_other():
    found = pieces(two_fields(), longest_unread=10)
    assert [piece.text for piece in found if piece.name] == ["premise", "hypothesis", "rule (fixed)"]
    text = "".join(piece.text for piece in found if not piece.name)
    assert text == "Great film\nDull\nbe brief" == two_fields().text
    assert [(piece.text, piece.word.field) for piece in found if piece.word] == [
        ("Great", "premise"), ("film", "premise"), ("Dull", "hypothesis"),
    ]  # fmt: skip


def test_what_is_read_from_right_to_left_is_kept_apart():
    assert isolated("dull\u202e") == inline("dull\u202e") == "dull⟨202E⟩"
    assert isolated("رائع") == "\u2068رائع\u2069"
    assert isolated("טוב 1") == "\u2068טוב 1\u2069"
