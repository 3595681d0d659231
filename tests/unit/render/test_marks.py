"""Tests of `mase.render.marks`."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.answers import cited
from tests.attributions import attribution, two_fields

from mase.attribution import Token, Word
from mase.render.html import page
from mase.render.marks import (
    are_estimates,
    cells,
    has_intervals,
    inline,
    is_significant,
    isolated,
    model_name,
    pieces,
    scale_of,
    shortened_to_width,
    strongest,
    visible,
)
from mase.render.terminal import summary
from mase.render.wording import cut_off
from mase.text import Truncation, find_words


def test_long_labels_end_with_an_ellipsis():
    assert (shortened_to_width("a sentence", 10), shortened_to_width("a sentence!", 10)) == ("a sentence", "a sentenc…")
    assert cells("ab", 4) == "ab  "
    assert cells("我们明天去", 6) == "我们… "


def test_a_label_from_right_to_left_is_kept_apart_from_the_number_after_it():
    label = cells("مملة", 6)
    assert label == "\u2068مملة\u2069  "
    assert cell_len(label) == 6
    assert cells("كلمة طويلة", 5).rstrip().endswith("…\u2069")


def test_a_label_is_not_cut_inside_of_a_flag_or_an_emoji():
    for one in ("🇩🇪", "👨‍👩‍👧"):
        for width in range(2, 8):
            assert set(shortened_to_width(one * 8, width).removesuffix("…").split(one)) == {""}


def test_the_scale_gives_numbers_that_fit_the_text():
    scale = scale_of(attribution())
    superb, dull = attribution().top(2, by="magnitude")
    assert scale.interval(superb) == "+0.250 ± 0.020"
    assert scale.interval(dull) == "−0.125 ± 0.020"
    assert [scale.level(word, 6) for word in (superb, dull)] == [6, 3]
    assert scale.level(Word("x", 0, 1, "text", 0.02, 0.0), 6) == 0
    assert scale_of(attribution("one", [1234.5])).signed(1234.5) == "+1234"
    large = scale_of(attribution("one two", [52345.6, -9999.7], se=6000.0))
    assert [large.signed(value) for value in (52345.6, -9999.7, 0.4)] == ["+52,346", "−10,000", "0"]
    assert [large.error(value) for value in (11760.0, 9999.1, 9998.2)] == ["11,760", "10,000", "9999"]
    price = scale_of(attribution("one two", [1e6, 3.0], se=0.0))
    assert [price.signed(value) for value in (1e6, -3.0, 0.0)] == ["+1,000,000", "−3", "0"]
    assert scale_of(attribution("one", [2e15])).signed(2e15) == "+2.0e+15"
    assert scale_of(attribution("one", [1e-7])).interval(Word("x", 0, 1, "text", -1e-7, 1e-9)) == "−1.0e-07 ± 2e-09"


def test_summaries_keep_to_the_width_of_a_word():
    assert max(map(len, summary(attribution("a" * 300 + " superb")).splitlines())) < 120


def test_half_widths_are_never_rounded_to_nothing():
    tiny = scale_of(attribution("one", [1e-7]))
    assert [tiny.error(value) for value in (1.2e-9, 9.1e-9, 2e-9, 0.0)] == ["2e-09", "1e-08", "2e-09", "0e+00"]
    assert tiny.error(1e-320) == "1e-320"
    assert scale_of(attribution()).error(1e-9) == "0.001"
    assert scale_of(attribution()).error(0.0) == "0.000"
    assert scale_of(attribution("no scores", [0.0, 0.0])).interval(Word("x", 0, 1, "text", 0.0, 0.0)) == "0.000 ± 0.000"


def test_exact_scores_have_no_interval():
    exact = attribution("a b", [0.5, 0.25], se=0.0)
    assert [scale_of(exact).interval(word) for word in exact.word_scores] == ["+0.500", "+0.250"]
    some = attribution("a b", [0.5, 0.25], standard_errors=(0.0, 0.1))
    assert [scale_of(some).interval(word) for word in some.word_scores] == ["+0.500 ± 0.000", "+0.250 ± 0.196"]
    assert (has_intervals(exact), has_intervals(some), has_intervals(attribution(se=None))) == (False, True, False)
    assert (are_estimates(exact), are_estimates(attribution(se=None))) == (True, False)


def test_a_word_is_sure_if_its_interval_leaves_out_zero():
    assert is_significant(Word("x", 0, 1, "text", -0.2, 0.1))
    assert not is_significant(Word("x", 0, 1, "text", 0.19, 0.1))
    assert not is_significant(Word("x", 0, 1, "text", 0.0, 0.0))


def test_screens_list_the_strongest_words_of_both_sides():
    assert [word.text for word in strongest(attribution(), 3)] == ["superb", "dull", "plot"]
    ties = attribution("a b c d", [-1.0, 0.5, 1.0, -1.0])
    assert [word.text for word in strongest(ties, 4)] == ["a", "c", "d", "b"]


def test_screens_follow_an_order_that_is_not_that_of_the_scores():
    made = attribution("a b c", [3.0, 2.0, -4.0], order=(1, 0, 2))
    assert [word.text for word in strongest(made, 2)] == ["b", "a"]


def test_an_impossible_error_is_shown_all_the_same():
    for decimals in (None, 2):
        scale = replace(scale_of(attribution()), decimals=decimals)
        assert scale.error(1e308) == "1e+308"
        assert scale.error(2.5e200) == "3e+200"
        assert scale.error(math.inf) == "inf"
    made = attribution(method={"zoom": "x"}, zoomed=attribution("a b", [1.0, 0.5]))
    assert "word by word" in str(made)


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
    flags = attribution("🇩🇪" * 9 + " end", spans=[(19, 22)], tokens=(), truncation=Truncation(1, 9, "end"))
    assert pieces(flags, longest_unread=4)[0].text == "[14 characters] … 🇩🇪🇩🇪 "


def test_characters_that_command_are_made_visible():
    assert visible("a\x00b\x1b[2Jc\x9bd\x7f") == "a␀b␛[2Jc⟨009B⟩d␡"
    assert visible("\u202eevil\u2066") == "⟨202E⟩evil⟨2066⟩"
    assert visible("\ud800") == "⟨D800⟩"
    assert visible("line\r\nnext\tcell مرحبا 👍🏽") == "line\nnext\tcell مرحبا 👍🏽"
    assert inline("a\nb\tc") == "a␊b␉c"
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "hi")  # tags, with which a model reads what nobody sees
    assert visible(f"a{hidden}\u3164\uffa0\u180e\u206a\ufff9") == "a⟨E0068⟩⟨E0069⟩⟨3164⟩⟨FFA0⟩⟨180E⟩⟨206A⟩⟨FFF9⟩"
    flag = "🏴" + "".join(chr(0xE0000 + ord(letter)) for letter in "gbeng") + "\U000e007f"
    assert visible(f"go {flag}!") == f"go {flag}!"
    assert visible(f"{flag[:-1]}{hidden}") == "🏴⟨E0067⟩⟨E0062⟩⟨E0065⟩⟨E006E⟩⟨E0067⟩⟨E0068⟩⟨E0069⟩"


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


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/srv/models/look_up", "look_up"),
        ("../models/look_up/", "look_up"),
        ("models/of/ours/look_up", "look_up"),
        ("D:\\models\\look_up", "look_up"),
        ("/srv/judge.py:predict", "judge.py:predict"),
        ("owner/look_up", "owner/look_up"),
        ("http://localhost:8000/v2/models/look_up", "http://localhost:8000/v2/models/look_up"),
        ("/", "/"),
        ("..", ".."),
        ("/srv/look\x1bup", "look␛up"),
        (None, "None"),
    ],
)
def test_a_model_in_a_folder_is_called_by_the_name_of_the_folder(name, shown):
    assert model_name(name) == shown


def test_headings_have_the_name_of_the_folder_and_the_origin_its_path():
    folder = "/srv/models/look_up"
    answered = page([cited(model={"name": folder})])
    assert "<title>1 answer explained: look_up</title>" in answered
    assert "<bdi>generated by look_up</bdi>" in answered
    assert answered.count(folder) == 1
    plain = attribution(model={"name": folder})
    assert "by look_up: " in repr(plain).splitlines()[0]
    assert plain.to_dict()["model"] == {"name": folder}


@pytest.mark.parametrize("unseen", ["\u115f", "\u17b4", "\U000e0100", "\U000e01ef", "\u3164"])
def test_text_in_invisible_characters_is_shown(unseen):
    assert visible(f"ok{unseen}") == f"ok⟨{ord(unseen):04X}⟩"


def test_a_selector_of_an_emoji_stays():
    assert visible("\u2764\ufe0f") == "\u2764\ufe0f"
