"""Tests of `mase.render.terminal`."""

import io
import json
import re

import numpy as np
import pytest
from rich.console import Console
from tests.attributions import attribution
from tests.unit.render.screens import Visible, printed

import mase
from mase.attribution import LISTED, Changed, Evidence, FlipSet
from mase.render.figure import bar_chart
from mase.render.html import fragment, page
from mase.render.terminal import heat_map, summary
from mase.text import Truncation, find_words


def shown(made, *, width=100, color=None, encoding="utf-8", details=True, **environment):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=stream,
        force_terminal=color is not None,
        color_system=color,
        width=width,
        _environ=environment,
        legacy_windows=False,
    )
    console.print(heat_map(made, details=details))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def test_summary_is_plain_lines():
    made = attribution(truncation=Truncation(9, 12, "end"), notes=[("poor-fit", "two halves differ")])
    assert repr(made) == summary(made)
    assert summary(made, top=2).splitlines() == [
        "Attribution for pos by lstm-imdb: predicted pos 80.0 %",
        "read with care: two halves differ; the 2 strongest words are certain, 3rd place is open",
        "  superb  +0.250 ± 0.020",
        "  dull    −0.125 ± 0.020",
        "2 strongest of 11 words; probability of pos, ± 95 % interval (sampling)",
        "R² 0.98",
        "the model was asked 1,001 times · 200 ms · mase, seed 0",
        "cut off: the model read only the last 9 of 12 tokens",
    ]
    noted = attribution(notes=[("reversed", "vectors were reversed")])
    assert summary(noted).splitlines()[-1] == "warning: vectors were reversed [reversed]"


def test_the_verdict_comes_before_the_text_and_the_evidence_last():
    best = Changed((3, 9), "neg", 0.63, 0.37, -0.5)
    found = Evidence((best,), (Changed((3, 9), "pos", 0.9, 0.9, 2.2),), FlipSet((3,), "neg", 0.6, smallest=True))
    for width in (100, 60):
        lines = shown(attribution(evidence=found, se=0.001), width=width).splitlines()
        assert lines[1].startswith("reliable: the 4 strongest words are certain")
        assert " ".join(" ".join(lines).split()).endswith(
            "without “superb”: neg 60.0 %, the smallest set that flips it "
            "without “superb” and “dull”: neg 63.0 %; with them alone: pos 90.0 %"
        )
        assert max(map(len, lines)) <= width


def test_a_sentence_takes_twenty_lines_and_none_of_them_repeats_another():
    best = Changed((3, 9), "neg", 0.63, 0.37, -0.5)
    found = Evidence((best,), (Changed((3, 9), "pos", 0.9, 0.9, 2.2),), FlipSet((3,), "neg", 0.6, smallest=True))
    made = attribution(evidence=found, link="margin")
    brief = shown(made, width=80, details=False).splitlines()
    assert len(brief) <= 20
    assert brief[-1] == "without “superb”: neg 60.0 %, the smallest set that flips it"
    assert brief[-2] == "how much each word raises pos; +0.7 doubles the odds; ± is its 95 % interval"
    assert not any(word in "\n".join(brief) for word in ("R²", "split-half", "margin", "seed 0", "sampling)"))
    assert len(shown(made, width=80).splitlines()) > len(brief)
    two = attribution(notes=[("few-samples", "few"), ("unstable", "halves differ")])
    assert shown(two, details=False).splitlines()[1] == "read with care: few"


def test_a_percent_sign_stays_with_its_number():
    for width in range(60, 100):
        assert not any(line.lstrip().startswith("%") for line in shown(attribution(se=0.001), width=width).splitlines())


def test_heat_map_without_colours_marks_words_by_sign_and_strength():
    made = attribution()
    for text in (shown(made), shown(made, color="truecolor", NO_COLOR="1")):
        plain = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert "The cast⁺ is superb⁺⁺⁺, but the plot⁻ is dull⁻⁻." in plain
        assert "superb  +0.250 ± 0.020  ████████████████████████\n" in plain
        assert not re.search(r"\x1b\[[\d;]*(3[1-7]|38|48)", text)
    assert "\x1b" not in shown(made)


def test_heat_map_in_colours_has_a_second_cue():
    text = shown(attribution(), color="truecolor")
    assert re.search(r"\x1b\[1;38;2;255;255;255;48;2;200;30;55msuperb⁺\x1b\[0m", text)
    assert re.search(r"\x1b\[[\d;]*mdull⁻\x1b\[0m", text)


def test_words_that_could_be_zero_are_not_marked():
    text = shown(attribution(se=0.5))
    assert "⁺⁺" not in text
    assert "is superb, but" in text


def test_scores_without_a_direction_are_not_drawn_as_for_the_class(tmp_path):
    made = attribution(signed=False)
    text = shown(made)
    assert "words that matter to pos" in text
    assert "superb•••" in text
    assert not set("⁺⁻") & set(text)
    assert "for⁺" not in text
    assert "against" not in text
    source = made.to_html()
    assert '<article class="plain">' in source
    assert "Words that <b d>matter</b> to <bdi>pos</bdi>" in source
    assert "not whether it increases or decreases" in source
    figure = bar_chart(made)
    assert len({patch.get_facecolor()[:3] for patch in figure.axes[0].patches}) == 1
    assert "<article>" in attribution().to_html()


def test_bars_keep_their_shares_in_a_narrow_terminal():
    text = shown(attribution("x dull", [0.2, 0.1]), width=34)
    bars = [len(re.sub("[^█]", "", line)) for line in text.splitlines() if "█" in line]
    assert len(bars) == 2
    assert bars[0] / bars[1] == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("width", [24, 30, 40, 60])
def test_names_get_shorter_and_numbers_do_not(width):
    text = shown(attribution("a" * 100 + " superb", [1.234, -0.5], se=0.01), width=width)
    assert len([line for line in text.splitlines() if "+1.23 ± 0.02" in line or "−0.50 ± 0.02" in line]) == 2


def test_heat_map_on_ascii_terminals_and_narrow_ones():
    made = attribution()
    made_narrow = shown(attribution("a" * 100 + " superb"), width=30)
    assert max(map(len, made_narrow.splitlines())) <= 30
    assert "aaa" in made_narrow
    console = Console(file=io.StringIO(), width=60)
    options = console.options.update()
    options.encoding = "ascii"
    text = "".join(segment.text for segment in console.render(heat_map(made), options))
    assert "superb+++, but the plot- is dull--." in text
    assert "########################" in text


def test_the_terminal_shows_what_was_not_read():
    text = "never read " * 3 + "the end"
    made = attribution(
        text, spans=find_words(text)[-2:], tokens=(), truncation=Truncation(2, 8, "end"), notes=[("poor-fit", "beware")]
    )
    assert "⟦never read never read never read⟧ the end" in shown(made)
    assert "cut off: the model read only the last 2 of 8 tokens" in shown(made)
    assert "read with care: beware" in shown(made)


@pytest.mark.parametrize("color", [None, "standard", "256", "truecolor"])
def test_texts_and_names_command_no_terminal(color):
    evil = "\x1b]0;title\x07 [bold red]x[/] \x9b2J \x1b[31m \r overwritten"
    made = attribution(evil, [0.3] * len(find_words(evil)), label=evil, other="[link=http://a]b", model_name=evil)
    text = shown(made, color=color, width=300) + summary(made)
    assert not set(text) & set("\x00\x07\x9b\r")
    assert set(re.findall(r"\x1b.", text)) <= {"\x1b["}
    assert not re.search(r"\x1b\[(?![\d;]*m)", text)
    assert "[bold red]x[/]" in re.sub(r"\x1b\[[\d;]*m|⁺", "", text)
    assert "[link=http://a]b" in text


def test_exact_scores_have_no_interval():
    exact = attribution(se=0.0, exact=True)
    assert "±" not in summary(exact) + printed(exact)
    assert "±" in printed(attribution())


def test_labels_read_from_right_to_left_are_kept_apart_from_numbers():
    made = attribution(label="إيجابي", other="سلبي", link="margin")
    label, other = "\u2068إيجابي\u2069", "\u2068سلبي\u2069"
    assert f"{label} 80.0 % · {other} 20.0 %   words for⁺ and against⁻ {label}\n" in printed(made)
    assert summary(made).startswith(f"Attribution for {label} by lstm-imdb: predicted {label} 80.0 %\n")


def test_a_text_without_scores_is_shown():
    made = attribution("fine", [0.0], se=0.0)
    assert "fine" in shown(made)
    assert "0.000\n1 word; " in summary(made)
    assert "1 words" not in summary(attribution("", [], tokens=()))


def test_screens_list_as_many_words_as_halves_are_judged_by():
    made = attribution(" ".join(f"w{i}" for i in range(30)), [0.01 * (i + 1) for i in range(30)])
    assert len(re.findall("±", summary(made))) == LISTED + 1  # and one that says what it is
    assert printed(made).count("█\n") + len(re.findall("[▏▎▍▌▋▊▉]\n", printed(made))) == LISTED


def test_random_scores_have_no_interval_anywhere(lstm_model, tmp_path):
    found = mase.Explainer(lstm_model, method="random")("not a bad film at all")
    assert {word.standard_error for word in found.word_scores} == {None}
    assert np.isnan(found.standard_errors).all()
    assert np.isfinite(found.scores).all()
    for shown in (summary(found), printed(found), Visible(page([found])).text, Visible(fragment(found)).text):
        assert "±" not in shown
        assert "95" not in shown
        assert not re.search(r"words? (that matter|for|against)", shown, re.IGNORECASE)
    assert not set("⁺⁻") & set(printed(found))
    source = page([found])
    assert '<article class="plain">' in source
    assert "±" not in source
    assert "class=w" not in source
    assert "class=w" in page([attribution()])
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(plain["responses"][0]["standard_errors"]) == {None}
    found.save(tmp_path / "random.json")
    assert mase.load(tmp_path / "random.json") == found


def test_a_word_without_an_error_is_drawn_as_it_is():
    made = attribution(se=None)
    assert re.search(r"superb\s+\+0\.250$", summary(made), re.MULTILINE)
