import base64
import hashlib
import io
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.attributions import attribution

from mase.attribution import Fit, Prediction, Token, Word
from mase.errors import DataError, MissingDependencyError, OptionError
from mase.links import links
from mase.render.facts import cut_off, duration, fit_facts, gloss, meaning, origin, percent, top_classes, unit
from mase.render.figure import bar_chart
from mase.render.html import fragment, page, write_page
from mase.render.palette import is_sure, scale_of
from mase.render.pieces import inline, pieces, visible
from mase.render.terminal import heat_map, summary
from mase.text import Truncation, find_words

MASKED = {"name": "mase", "space": {"name": "token-mask"}, "design": {"name": "focused"}}
SCALED = {"name": "mase-nlgp", "space": {"name": "token-scale"}, "design": {"name": "orthogonal"}}
HOSTILE = """</script><script>alert(1)</script> "><img src=x onerror=alert(1)> ' onmouseover='x' &amp; {{ 7*7 }} [red]x[/red]"""


def shown(made, *, width=100, color=None, encoding="utf-8", **environment):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=stream,
        force_terminal=color is not None,
        color_system=color,
        width=width,
        _environ=environment,
        legacy_windows=False,
    )
    console.print(heat_map(made))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


# --- palette and pieces ---------------------------------------------------------------------------------------------


def test_the_scale_gives_numbers_that_fit_the_text():
    scale = scale_of(attribution())
    superb, dull = attribution().top(2, by="magnitude")
    assert scale.interval(superb) == "+0.250 ± 0.020"
    assert scale.interval(dull) == "−0.125 ± 0.020"
    assert [scale.level(word, 6) for word in (superb, dull)] == [6, 3]
    assert scale.level(Word("x", 0, 1, 0.02, 0.0), 6) == 0
    assert scale_of(attribution("one", [1234.5])).signed(1234.5) == "+1234"
    assert scale_of(attribution("one", [1e-7])).interval(Word("x", 0, 1, -1e-7, 1e-9)) == "−1.0e-07 ± 2e-09"


def test_summaries_keep_to_the_width_of_a_word():
    assert max(map(len, summary(attribution("a" * 300 + " superb")).splitlines())) < 120


def test_half_widths_are_never_rounded_to_nothing():
    tiny = scale_of(attribution("one", [1e-7]))
    assert [tiny.error(value) for value in (1.2e-9, 9.1e-9, 2e-9, 0.0)] == ["2e-09", "1e-08", "2e-09", "0e+00"]
    assert scale_of(attribution()).error(1e-9) == "0.001"
    assert scale_of(attribution()).error(0.0) == "0.000"
    assert scale_of(attribution("no scores", [0.0, 0.0])).interval(Word("x", 0, 1, 0.0, 0.0)) == "0.000 ± 0.000"


def test_a_word_is_sure_if_its_interval_leaves_out_zero():
    assert is_sure(Word("x", 0, 1, -0.2, 0.1))
    assert not is_sure(Word("x", 0, 1, 0.19, 0.1))
    assert not is_sure(Word("x", 0, 1, 0.0, 0.0))


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


def test_facts():
    assert percent(1.0) == "> 99.9 %"
    assert percent(0.0) == "0.0 %"
    assert duration(0.0004) == "0 ms"
    assert [duration(seconds) for seconds in (0.9996, 59.96, 119.7)] == ["1.0 s", "1 min 0 s", "2 min 0 s"]
    assert fit_facts(attribution(fit=Fit(0.999, 1.0, 1.0, 12_345, 7, 61.0))) == [
        "R² > 0.99", "split-half 1.00", "12,345 evaluations", "7 gradients", "1 min 1 s",
    ]  # fmt: skip
    assert fit_facts(attribution(fit=Fit(None, None, None, 2, 0, 1.0))) == ["2 evaluations", "1.0 s"]
    many = Prediction("c0", 0, 0.5, {f"c{index}": 0.5 - index / 100 for index in range(46)})
    assert [label for label, _ in top_classes(attribution(prediction=many, target="c9"), 3)] == ["c0", "c1", "c2", "c9"]
    assert origin(attribution())[:3] == ["model lstm-imdb (sha256 abababababab)", "method mase", "space token-scale"]
    assert origin(attribution(model={"name": None}, method={}, versions={})) == ["model None", "method None", "seed 0"]


def test_the_unit_of_the_scores_is_told():
    margin, masked = attribution(link="margin", method=MASKED), attribution(method=MASKED)
    assert (unit(attribution()), gloss(attribution())) == ("probability of pos", None)
    assert unit(margin) == "margin of pos in log-odds"
    assert np.exp(0.7) == pytest.approx(2, rel=0.01)
    assert gloss(margin) == "margin: the class against its best alternative; +0.7 doubles the odds"
    assert [gloss(attribution(link=link)) is None for link in links()] == [True, False, False, False]
    separate = Prediction("pos", 1, 0.8, {"neg": 0.7, "pos": 0.8})
    assert gloss(replace(margin, prediction=separate)) == "margin: the class against its absence; +0.7 doubles the odds"
    logit = attribution(link="logit", response=1.5)
    assert gloss(logit) == "logit: the model's raw score of the class"
    assert (
        gloss(replace(logit, response=np.log(0.8 / 0.2))) == "logit: the log-odds of the class; +0.7 doubles the odds"
    )
    assert summary(margin).splitlines()[-3:] == [
        "8 strongest of 11 words; margin of pos in log-odds, ± 95 % interval (sampling)", gloss(margin),
        "R² 0.98 · 1,001 evaluations · 200 ms · mase, seed 0",
    ]  # fmt: skip
    put_back, scaled, told = (
        meaning([one]) for one in (masked, attribution(method=SCALED), attribution(method={"name": "random"}))
    )
    assert "when the word is put back" in put_back[0]
    assert "with the word's share in the input" in scaled[0]
    assert "as the method named below measures it" in told[0]
    assert meaning([margin, masked, margin]) == [*put_back, f"M{gloss(margin)[1:]}."]
    assert meaning([]) == []


# --- terminal -------------------------------------------------------------------------------------------------------


def test_summary_is_plain_lines():
    made = attribution(truncation=Truncation(9, 12, "end"), notes=[("unstable", "two halves differ")])
    assert repr(made) == summary(made)
    assert summary(made, top=2).splitlines() == [
        "Attribution for pos by lstm-imdb: predicted pos 80.0 %",
        "  superb  +0.250 ± 0.020",
        "  dull    −0.125 ± 0.020",
        "2 strongest of 11 words; probability of pos, ± 95 % interval (sampling)",
        "R² 0.98 · 1,001 evaluations · 200 ms · mase, seed 0",
        "cut off: the model read only the last 9 of 12 tokens",
        "warning: two halves differ [unstable]",
    ]


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


UNSIGNED = ("unsigned", "scores are lengths")


def test_scores_without_a_direction_are_not_drawn_as_for_the_class(tmp_path):
    made = attribution(notes=[UNSIGNED])
    text = shown(made)
    assert "words that matter to pos" in text
    assert "superb•••" in text
    assert not set("⁺⁻") & set(text)
    assert "for⁺" not in text
    assert "against" not in text
    source = made.to_html()
    assert "<article class=plain>" in source
    assert "Words that <b d>matter</b> to <bdi>pos</bdi>" in source
    assert "whether it speaks for the class or against it" in source
    figure = bar_chart(made)
    assert len({patch.get_facecolor()[:3] for patch in figure.axes[0].patches}) == 1
    assert "<article>" in attribution().to_html()


def test_bars_keep_their_shares_in_a_narrow_terminal():
    text = shown(attribution("x dull", [0.2, 0.1]), width=34)
    bars = [len(re.sub("[^█]", "", line)) for line in text.splitlines() if "█" in line]
    assert len(bars) == 2
    assert bars[0] / bars[1] == pytest.approx(2, abs=0.3)


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
    kept = tuple(word for word in attribution(text).word_scores if word.start >= 33)
    made = attribution(
        text, word_scores=kept, tokens=(), truncation=Truncation(2, 8, "end"), notes=[("poor-fit", "beware")]
    )
    assert "⟦never read never read never read⟧ the end" in shown(made)
    assert "cut off: the model read only the last 2 of 8 tokens" in shown(made)
    assert "warning: beware [poor-fit]" in shown(made)


@pytest.mark.parametrize("color", [None, "standard", "256", "truecolor"])
def test_texts_and_names_command_no_terminal(color):
    evil = "\x1b]0;title\x07 [bold red]x[/] \x9b2J \x1b[31m \r overwritten"
    made = attribution(evil, [0.3] * len(find_words(evil)), label=evil, other="[link=http://a]b", name=evil)
    text = shown(made, color=color, width=300) + summary(made)
    assert not set(text) & set("\x00\x07\x9b\r")
    assert set(re.findall(r"\x1b.", text)) <= {"\x1b["}
    assert not re.search(r"\x1b\[(?![\d;]*m)", text)
    assert "[bold red]x[/]" in re.sub(r"\x1b\[[\d;]*m|⁺", "", text)
    assert "[link=http://a]b" in text


def test_a_text_without_scores_is_shown():
    made = attribution("fine", [0.0], se=0.0)
    assert "fine" in shown(made)
    assert "0.000 ± 0.000" in summary(made)
    assert "1 words" not in summary(attribution("", [], word_scores=(), tokens=()))


# --- HTML -----------------------------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Collects the elements and attributes of a page, and its text as a browser would show it."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("render", [fragment, lambda made: page([made])])
def test_everything_from_outside_is_escaped(render):
    made = attribution(
        HOSTILE, [0.3] * len(find_words(HOSTILE)), label=HOSTILE, other="<b onclick=x>", name=HOSTILE, se=0.01,
        notes=[(HOSTILE, HOSTILE)], method={"name": HOSTILE, "sigma": HOSTILE, "space": {"name": HOSTILE}},
        versions={"mase-xai": HOSTILE}, link=HOSTILE,
    )  # fmt: skip
    harmless = attribution("x" * 20, [0.3], notes=[("a", "b")])
    source, reader, reference = render(made), Reader(render(made)), Reader(render(harmless))
    assert set(reader.tags) <= set(reference.tags) | {"b", "i", "u"}
    assert {"script", "img"}.isdisjoint(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "href", "style")]
    assert reader.text.count("<script>alert(1)</script>") >= 4
    assert "{{ 7*7 }}" in reader.text
    assert "<script" not in source


def test_the_words_of_the_page_are_the_text():
    reader = Reader(page([attribution(HOSTILE)]))
    assert HOSTILE in reader.text


def test_the_policy_of_the_page_allows_its_own_style_only():
    source = page([attribution()])
    policy = re.search(r'Content-Security-Policy content="([^"]+)"', source)[1]
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert not re.search(r"https?:|url\(|@import|<link|<script", source)
    assert "prefers-color-scheme:dark" in style


def test_words_are_marked_by_colour_and_line_with_their_number():
    source = page([attribution()])
    assert "<b f title=+0.250±0.020>superb</b>" in source
    assert "<i c title=−0.125±0.020>dull</i>" in source
    assert "<u title=0.000±0.020>The</u>" in source
    unsure = page([attribution(se=0.2)])
    assert "<b l title=+0.250±0.392>superb</b>" in unsure
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    assert "dashed" in style


def test_the_page_tells_prediction_fit_warnings_and_origin():
    made = attribution(target="neg", truncation=Truncation(9, 12, "end"), notes=[("unstable", "two halves differ")])
    text = Reader(page([made, attribution()])).text
    for part in (
        "2 texts explained: lstm-imdb", "1. pos 80.0 %", "against neg, which is not the prediction", "two halves differ",
        "Scores: probability of neg · R² 0.98 · 1,001 evaluations", "the model read only the last 9 of 12 tokens",
        "sha256 abababababab", "seed 0", "−0.125 ± 0.020",
    ):  # fmt: skip
        assert part in text
    assert text.count("sha256 abab") == 1
    shown = Reader(page([attribution(link="margin", method=MASKED)])).text
    assert "Scores: margin of pos in log-odds" in shown
    assert all(sentence in shown for sentence in meaning([attribution(link="margin", method=MASKED)]))
    assert gloss(attribution(link="margin")) in Reader(fragment(attribution(link="margin"))).text
    assert Reader(page([])).text.count("Nothing to explain") == 2


def test_right_to_left_text_and_control_characters():
    source = page([attribution("مرحبا \x00 \u202e 👍🏽", label="إيجابي")])
    assert "dir=auto" in source
    assert "<bdi>إيجابي</bdi>" in source
    assert not set(source) & set("\x00\u202e")


def test_what_was_not_read_is_greyed():
    text = "never read " * 500 + "the end"
    kept = tuple(word for word in attribution(text).word_scores if word.start >= 5500)
    source = page([attribution(text, word_scores=kept, tokens=(), truncation=Truncation(2, 1002, "end"))])
    assert "<s>[1,500 characters] … " in source
    assert "never read never read </s>" in source


@pytest.mark.parametrize("law", ["standard_normal", "standard_cauchy"])
def test_ten_reviews_stay_below_100_kb_with_every_word_scored(law):
    rng = np.random.default_rng(0)
    text = ("The book is one of my favourites, so perhaps I was always going to be disappointed. What made it special was its "
            "patience: long winters, small kindnesses, a friendship that grows over forty years. ") * 7  # fmt: skip
    text = text[:1300]
    size = len(find_words(text))
    many = [attribution(text, (0.05 * getattr(rng, law)(size)).tolist(), notes=[("a", "b" * 80)]) for _ in range(10)]
    assert len(page(many).encode()) < 100_000
    assert len(page(many[:1]).encode()) < 25_000


def test_a_page_keeps_the_numbers_of_its_run_and_tells_what_is_missing():
    source = page([attribution(), attribution()], numbers=[1, 4], n_failed=2)
    assert re.findall(r"<h2>(\d)\. ", source) == ["1", "4"]
    assert "2 more could not be explained." in source
    assert "<h2>3. " in page([attribution()], numbers=[3], n_failed=2)
    assert "more could not" not in page([attribution()])


def test_a_fragment_keeps_to_itself():
    source = fragment(attribution())
    assert source == attribution()._repr_html_()
    assert source.startswith("<div class=mase>")
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    selectors = [
        one for rule in re.findall(r"([^{}]+)\{", style) for one in rule.split(",") if not rule.strip().startswith("@")
    ]
    assert all(one.strip().startswith(".mase") for one in selectors)
    assert "<html" not in source


def test_pages_are_written_whole(tmp_path):
    path = tmp_path / "new" / "page.html"
    content = write_page([attribution()], path)
    assert path.read_text(encoding="utf-8") == content == attribution().to_html()
    assert attribution().to_html(path) == content
    with pytest.raises(DataError, match="cannot write"):
        write_page([attribution()], tmp_path)


# --- figure ---------------------------------------------------------------------------------------------------------


def test_bar_chart_shows_the_strongest_words_in_reading_order(tmp_path):
    pytest.importorskip("matplotlib")
    figure = bar_chart(attribution(label="$x^2$", name="$y$"), 4)
    axes = figure.axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["cast", "superb", "plot", "dull"]
    assert [bar.get_width() for bar in axes.patches] == [0.03, 0.25, -0.04, -0.125]
    assert axes.get_xlabel() == "probability of $x^2$, ± 95 % interval (sampling)"
    assert attribution().plot().axes
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
    bar_chart(attribution("fine", [0.0])).savefig(tmp_path / "zero.png")
    for wrong in (0, -1, 2.5, True):
        with pytest.raises(OptionError, match="k is"):
            bar_chart(attribution(), wrong)


def test_figures_leave_the_global_state_of_pyplot_alone():
    code = "import sys, tests.attributions as t; t.attribution().plot(); print('matplotlib.pyplot' in sys.modules)"
    root = Path(__file__).parents[2]
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert found.stdout.strip() == "False"


def test_without_matplotlib_the_remedy_is_told(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[plot\]'"):
        attribution().plot()
