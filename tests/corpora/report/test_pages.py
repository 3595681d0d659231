"""Tests of `mase_corpora.report.pages`: what the page says, what it allows, and how large it gets."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

import numpy as np
import pytest
from tests.answers import cited
from tests.attributions import attribution
from tests.runs import run_of
from tests.summaries import example, phrase, push, summary, word

from mase.attribution import Prediction
from mase.errors import InvalidTextError
from mase.render.marks import Scale
from mase_corpora.effects import Family
from mase_corpora.report import pages as module
from mase_corpora.report.pages import (
    Limits,
    class_sections,
    difference_lists,
    none_found,
    page,
    room,
    row_list,
    rules,
    scale_of_list,
    verdict,
    word_line,
)
from mase_corpora.report.texts import Flags, entries
from mase_corpora.summary import Distribution

HOSTILE = """</script><script>alert(1)</script>"><img src=x onerror=alert(1)>' onclick='x' {{ 7*7 }} "the nonce" """


class Page(HTMLParser):
    """Tags, attributes and text of a page, without its script and style."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.inside = [], [], "", ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = tag if tag in ("script", "style") else ""

    def handle_data(self, data):
        self.text += "" if self.inside else data

    def values(self, name):
        return [value for key, value in self.attributes if key == name]


def made(tmp_path, attributions=None, *, texts=True, found=None, **changes):
    run = run_of(tmp_path, attributions or [(attribution(), ("pos", "web"))], kept=["label", "source"], **changes)
    first = list(entries(run, Flags("label", 0.6))) if texts else []
    return page(replace(found or summary(n=len(run)), run=run), first, texts=texts)


def test_the_page_says_what_the_summary_says(tmp_path):
    read = Page(made(tmp_path))
    for said in (
        "75.0 % of 4 labelled texts", "at least 70 % of the variance", "InvalidTextError", "few-samples", "wonderful",
        "+0.500 ± 0.100", "45 %", "Phrases away from", "this is a good film, and so on…", "Predicted pos",
        "mobile, towards neg", "at least 20 texts", "At most 5 %", "6 of 300 words", "below 60.0 %",
    ):  # fmt: skip
        assert said in read.text, said


def test_no_share_of_variance_is_rounded_up_to_all_of_it(tmp_path):
    nearly = Distribution("r2", 5, *(0.9996,) * 8)
    text = attribution(r2=0.9996)
    read = Page(made(tmp_path, [(text, ("pos", "web"))], found=summary(n=1, quality=(nearly,))))
    assert "R² ≥ 0.99" in read.text
    assert "1.00" not in read.text
    exact = Distribution("r2", 5, *(1.0,) * 8)
    read = Page(made(tmp_path / "exact", [(text, ("pos", "web"))], found=summary(n=1, quality=(exact,))))
    assert "R² ≥ 1.00" in read.text


def test_every_link_of_the_page_leads_somewhere(tmp_path):
    read = Page(made(tmp_path))
    places = {f"#{name}" for name in read.values("id")}
    queries = {href for href in read.values("href") if href.startswith("#texts?")}
    assert set(read.values("href")) - queries <= places
    assert '#texts?q="good"' in {unquote(href) for href in queries}
    assert "#texts?row=0" in queries
    assert len(read.values("id")) == len(places)


def test_the_policy_allows_nothing_but_the_page(tmp_path):
    source = made(tmp_path)
    policy = re.search(r'Content-Security-Policy content="([^"]+)"', source)[1]
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    nonce = re.search(r"<script nonce=([0-9a-f]{32})>", source)[1]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'nonce-{nonce}'; "
        "require-trusted-types-for 'script'; trusted-types mase; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"https?:|url\(|@import|<link|innerHTML|eval\(", source)
    assert not [name for name, _ in Page(source).attributes if name.startswith("on") or name in ("style", "src")]


def test_another_page_has_another_nonce(tmp_path):
    nonces = {
        re.search(r"nonce=([0-9a-f]+)", made(tmp_path / name, [(attribution(label=name), ("pos", "web"))]))[1]
        for name in ("a", "b")
    }
    assert len(nonces) == 2


def test_everything_from_outside_is_escaped(tmp_path):
    hostile = attribution(HOSTILE, label=HOSTILE, notes=[(HOSTILE, HOSTILE)], link=HOSTILE)
    failed = (HOSTILE, InvalidTextError(HOSTILE))
    texts = [(hostile, (HOSTILE, HOSTILE), HOSTILE), (failed, (HOSTILE, HOSTILE), HOSTILE)]
    words = [word(HOSTILE, HOSTILE)]
    source = made(
        tmp_path, texts, model=HOSTILE,
        found=summary(labels=[HOSTILE, "pos"], words=words, message=HOSTILE, model=HOSTILE, group_column=HOSTILE),
    )  # fmt: skip
    read, plain = Page(source), Page(made(tmp_path / "plain"))
    assert set(read.tags) <= set(plain.tags) | {"i", "b"}
    assert source.count("<script") == 1
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("style", "src")]
    assert read.text.count("<script>alert(1)</script>") > 8


def test_the_first_texts_are_shaded(tmp_path):
    source = made(tmp_path)
    assert "<b f title=+0.250±0.020>superb</b>" in source
    assert "<i c title=−0.125±0.020>dull</i>" in source


def test_the_legend_is_of_the_scores_of_the_run(tmp_path):
    unsigned = attribution(signed=False, notes=[("unsigned", "no sign")])
    failed = ("bad", InvalidTextError("no text"))
    keys = {"solid line", "in either direction", "without a standard error"}
    for number, (one, expected) in enumerate(
        [
            (attribution(), "solid line"),
            (attribution(exact=True, se=0.0), "solid line"),
            (unsigned, "in either direction"),
            (attribution(se=None), "without a standard error"),
        ]
    ):
        texts = [(failed, ("pos", "web")), (one, ("pos", "web"))]
        said = Page(made(tmp_path / str(number), texts)).text
        assert {key for key in keys if key in said} == {expected}


def test_words_without_a_direction_have_one_colour(tmp_path):
    source = made(tmp_path, [(attribution(se=None), ("pos", "web"))])
    assert "<b f title=+0.250>superb</b>" in source
    assert "<b c title=−0.125>dull</b>" in source


def test_scores_without_a_sign_have_no_plus(tmp_path):
    unsigned = attribution(signed=False, notes=[("unsigned", "no sign")])
    source = made(tmp_path, [(unsigned, ("pos", "web"))])
    assert "<b f title=0.250±0.020>superb</b>" in source


def test_the_unit_of_effects_is_named(tmp_path):
    margin = [(attribution(link="margin"), ("pos", "web"))]
    assert "+0.7 doubles the odds" in Page(made(tmp_path / "margin", margin)).text
    probability = [(attribution(link="probability"), ("pos", "web"))]
    said = Page(made(tmp_path / "probability", probability)).text
    assert "the explained number, the probability" in said
    assert "doubles" not in said
    price = attribution(link="value", prediction=Prediction.of_values(["price"], np.array([2.0])))
    assert "for the class" not in Page(made(tmp_path / "price", [(price, ("pos", "web"))])).text


def test_an_answer_stands_with_its_sources_above_the_prompt(tmp_path):
    none = cited("No.", ((0, 3),), [[0.1] * 4])
    source = made(tmp_path, [(cited(HOSTILE), ("pos", "web")), (none, ("pos", "web"))])
    said = " ".join(Page(source).text.split())
    assert '"the nonce" [1][2] [1] source 1 Paris is the capital of France. +7.50 ± 0.40[2] source 2' in said
    assert "No.no source" in said
    assert "What speaks for and against the answers" in said
    assert "increases the probability of the answer" in said
    assert Page(source).tags.count("script") == 1
    plain = Page(made(tmp_path / "plain"))
    assert "What speaks for and against each class" in plain.text
    assert plain.tags.count("ol") == Page(source).tags.count("ol") - 2


def test_a_model_without_probabilities_has_no_section_on_low_confidence(tmp_path):
    found = summary(n=1)
    values = tuple(replace(row, probability=None) for row in found.predictions)
    for shown, predictions in ((True, found.predictions), (False, values)):
        read = Page(made(tmp_path / str(shown), found=replace(found, predictions=predictions)))
        assert ("low" in read.values("id"), "#low" in read.values("href")) == (shown, shown)
        assert ("low" in read.values("value"), "unsure" in read.values("value")) == (shown, shown)


@pytest.mark.parametrize("documents", [True, False])
def test_a_page_without_texts_shows_none(tmp_path, documents):
    source = made(tmp_path, texts=False, documents=documents)
    read = Page(source)
    assert "<script" not in source
    assert "superb" not in source
    assert "this is a" not in read.text
    assert not [href for href in read.values("href") if "?" in href]
    assert "wonderful" in read.text


def test_the_title_has_the_name_of_the_folder_of_the_model(tmp_path):
    found = summary(n=1, model="/srv/models/look_up")
    read = Page(made(tmp_path, found=found))
    assert "look_up on 1 text" in read.text
    assert read.text.count("/srv/models/look_up") == 1


def test_without_true_classes_nothing_is_called_wrong(tmp_path):
    for column in ("label", None):
        found = summary(n=1)
        found = replace(found, settings=replace(found.settings, label_column=column))
        offered = Page(made(tmp_path / str(column), found=found)).values("value")
        assert "failed" in offered
        assert ("wrong" in offered) == (column is not None)


def test_an_unfinished_run_says_so(tmp_path):
    texts = [(attribution(), ("pos", "web"))] * 2
    assert "4 not yet computed" in made(tmp_path, texts, n_texts=6, found=summary(n=2))


def test_a_page_that_gets_too_large_shows_less_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST_PAGE", 100_000)
    labels = [f"class {number}" for number in range(5)]
    words = [word(f"word {i}", label, side) for label in labels for side in ("towards", "away") for i in range(30)]
    source = made(tmp_path, found=summary(labels=labels, words=words))
    assert 40_000 < len(source.encode()) < 100_000
    assert re.search(r"\d+ more rows are not shown", Page(source).text)


def test_bars_begin_at_0_and_whiskers_stay_inside(tmp_path):
    source = made(tmp_path, found=summary(words=[word("a", effect=0.01), word("b", effect=2.0)]))
    places = [float(x) for path in re.findall(r'<path class="?[wpn]"? d="([^"]+)"', source) for x in
              re.findall(r"[MH]([0-9.-]+)", path)]  # fmt: skip
    assert places
    assert min(places) >= 0
    assert max(places) <= 100


def test_the_example_leads_to_its_text(tmp_path):
    assert f"#texts?row={example(2).row}" in made(tmp_path)


def test_a_class_read_from_right_to_left_is_kept_apart_from_what_follows(tmp_path):
    labels = {"label": "إيجابي", "against": "سلبي"}
    read = Page(made(tmp_path, [(attribution(**labels), ("pos", "web"))]))
    assert "of \u2068إيجابي\u2069 rather than \u2068سلبي\u2069" in read.text


def test_headings_stand_over_their_columns(tmp_path):
    source = made(tmp_path)
    table = re.search(r'aria-label="Confusions">(.*?)</table>', source, re.DOTALL)[1]
    heads = re.findall(r"<th scope=col( class=words)?>", table)
    (cells,) = [re.findall(r"<t[hd](?: scope=row)?( class=words)?>", row) for row in table.split("<tr>")[2:3]]
    assert heads == cells == ["", " class=words", "", ""]


LIMITS, SCALE = Limits(10, 3, 10), Scale(0.0, 2)


def length(path):
    """Return from where to where the bar of a path goes."""
    first, last = map(float, re.match(r"M([\d.]+) 2H([\d.]+)v8", path).groups())
    return abs(last - first)


def test_lists_within_the_same_room_have_the_same_scale():
    towards, away = ([word_line(word("a", effect=effect), SCALE)] for effect in (2.0, 0.5))
    assert room(towards) == pytest.approx(2.1)
    within = max(room(towards), room(away))
    large, small = (row_list("", lines, SCALE, LIMITS, within=within).rows[0] for lines in (towards, away))
    assert length(large.bar) == pytest.approx(4 * length(small.bar), abs=0.3)
    alone = row_list("", away, SCALE, LIMITS).rows[0]
    assert length(alone.bar) > 3 * length(small.bar)


def test_small_numbers_of_a_list_have_a_digit():
    assert [scale_of_list(values).decimals for values in ([2.0, 0.5], [2.0, -0.03], [2.0, 0.003], [2.0, 1e-9])] == [
        2,
        2,
        3,
        4,
    ]
    assert [scale_of_list(values).decimals for values in ([], [0.0], [1234.5, 0.0], [1e-9, 1e-9])] == [3, 3, 0, None]


def test_bars_stay_in_their_drawing():
    lines = [word_line(word("a", direction="away", effect=effect), SCALE) for effect in (2.0, 0.5)]
    for within in (0.0, 8.0):
        for row in row_list("", lines, SCALE, LIMITS, within=within).rows:
            numbers = [float(number) for number in re.findall(r"[MH]([\d.-]+)", row.bar + row.whisker)]
            assert min(numbers) >= 1 - 0.05
            assert max(numbers) <= 99 + 0.05
    assert row_list("", [], SCALE, LIMITS).rows == ()


SECTIONS_LIMITS = Limits(10, 3, 10)


@pytest.mark.parametrize(("n", "is_told"), [(5, False), (3, True)])
def test_a_fit_that_some_explanations_lack_is_said_of_the_others(n, is_told):
    quality = (Distribution("r2", n, 0.9, -0.2, 0.7, 0.8, 0.93, 0.97, 0.99, 1.0),)
    (sentence,) = (one for one in verdict(summary(quality=quality, run=range(6))) if "R²" in one)
    assert (f"of {n} explanations" in sentence) == is_told


def test_what_was_not_tested_is_no_finding():
    found = summary(families=(Family("words", 300, 0), Family("phrases", 0, 0), Family("wrong", 0, 0)))
    told = none_found(found)
    assert told["words"] == "No word passes the test."
    assert told["phrases"] == "No phrase occurs in 20 texts."
    assert told["wrong"] == "No word occurs in 20 wrong predictions of one class."
    assert "0 of 0" not in " ".join(rules(found))
    assert "0 of 300 words." in " ".join(rules(found))
    assert "Found of tested: none were tested." in " ".join(rules(summary(families=())))


def test_the_lists_of_a_class_say_why_they_are_empty():
    families = (Family("words", 300, 3), Family("phrases", 0, 0))
    (section,) = class_sections(
        summary(labels=("pos",), words=[word()], phrases=(), families=families), SECTIONS_LIMITS
    )
    assert [(one.title, one.empty) for one in section.lists if not one.rows] == [
        ("Words away from", "No word passes the test."),
        ("Phrases towards", "No phrase occurs in 20 texts."),
        ("Phrases away from", "No phrase occurs in 20 texts."),
    ]


def test_no_number_of_a_list_looks_like_none():
    words = [word("a", effect=2.0), word("b", direction="away", effect=0.004)]
    (section,) = class_sections(summary(labels=("pos",), words=words, phrases=()), SECTIONS_LIMITS)
    shown = [row.cells[0].text for one in section.lists for row in one.rows]
    assert shown == ["+2.000 ± 0.100", "−0.004 ± 0.100"]
    pushes = summary(wrong=(push("a", difference=1.5), push("b", difference=-0.006)))
    (found,) = difference_lists(pushes, SECTIONS_LIMITS)["wrong"]
    assert [row.cells[0].text for row in found.rows] == ["+1.500 ± 0.050", "−0.006 ± 0.050"]


def test_the_lists_of_a_class_have_one_scale():
    words = [word("a", effect=2.0), word("b", direction="away", effect=0.5)]
    (section,) = class_sections(summary(labels=("pos",), words=words, phrases=(phrase(effect=1.0),)), SECTIONS_LIMITS)
    lengths = {}
    for row in (row for one in section.lists for row in one.rows):
        first, last = map(float, re.match(r"M([\d.]+) 2H([\d.]+)v8", row.bar).groups())
        lengths[row.word] = abs(last - first)
    assert lengths["a"] > 1.9 * lengths["not good"] > 3.7 * lengths["b"]
