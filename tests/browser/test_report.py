"""Tests of the report of a corpus of prompts in a browser: with its script and without."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from mase.attribution import Prediction
from mase_corpora.report import write_report
from mase_corpora.summary import NoteCount
from tests.answers import ANSWER, cited
from tests.attributions import attribution
from tests.browser.conftest import AXE
from tests.browser.test_html import RULES
from tests.hostile.payloads import PAYLOADS
from tests.runs import run_of
from tests.summaries import summary
from tests.summaries import word as word_effect

SOURCES = "[1] source 1 Paris is the capital of France. +7.50 ± 0.40\n[2] source 2 The Seine flows through Paris. +4.50"
LONG = f"This sentence is far longer than a link may {'very ' * 15}probably be."
# The texts that the script lists, which come after their number.
DRAWN = ".texts [data-position]"


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens the report of a run of three answers, the last of which has no source."""
    hostile = cited(PAYLOADS[0], ((0, len(PAYLOADS[0])),), [[6.0, 0.2, 3.0, -1.0]])
    none = cited("It is unknown.", ((0, 14),), [[0.1, 0.2, -0.2, 0.1]])
    run = run_of(tmp_path / "run", [(cited(), ()), (hostile, ()), (none, ())])
    found = summary(n=3)
    settings = replace(found.settings, low_confidence=None, label_column=None, group_column=None)
    path = write_report(replace(found, run=run, settings=settings), tmp_path / "report")
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        tab.errors = []
        tab.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("script", [True, False])
def test_an_answer_stands_with_its_sources_above_the_prompt(opened, script):
    tab = opened(java_script_enabled=script)
    if script:
        tab.locator(DRAWN).nth(2).wait_for()
    rows = tab.locator(".texts > li")
    assert rows.nth(0).locator("summary .class").inner_text().startswith(ANSWER)
    for summary_ in tab.locator(".texts summary").all():
        summary_.click()
    assert rows.nth(0).locator(".said").inner_text() == f"{ANSWER}[1][2]"
    assert rows.nth(0).locator(".cited").inner_text().startswith(SOURCES)
    assert rows.nth(1).locator(".said").inner_text() == f"{PAYLOADS[0]}[1][2]"
    assert rows.nth(2).locator(".said").inner_text() == "It is unknown.no source"
    assert rows.nth(0).locator(".body > .text b").first.inner_text() == "Paris is the capital of France."
    assert not tab.get_by_label("Predicted class").is_visible()
    assert not tab.errors


def test_answers_are_searched(opened):
    tab = opened()
    tab.get_by_label("Search in texts, answers and ids").fill("unknown")
    tab.locator("#found", has_text="1 text with unknown").wait_for()
    assert tab.locator(".texts .id").all_inner_texts() == ["id 2"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("很好", [0]),
        ("部 电", [0]),
        ("ดี", [1]),
        ("iyi", [2]),
        ("caf\xe9", [4, 5]),
        ("👍", [6]),
        ("کتاب", [9]),
        ("wunder\xadbar", [10]),
        ("one\ntwo", [11]),
        (LONG.lower(), [12]),
    ],
)
def test_a_word_of_a_summary_is_found_in_its_texts_and_in_no_others(chromium, tmp_path, word, found):
    texts = [
        "这部电影很好看。",
        "หนังดีมาก",
        "İYİ film",
        "iyilik",
        "cafe\u0301!",
        "CAF\xc9",
        "👍 ok",
        "👍🏽 👨‍👍 ok",
        "کتاب‌ها",
        "کتاب",
        "wunder\xadbar 小说",
        "one\ntwo",
        LONG,
    ]
    run = run_of(tmp_path / "run", [(attribution(text), ()) for text in texts])
    made = summary(n=len(texts), words=[word_effect(word)], label_column=None, group_column=None, run=run)
    tab = chromium.new_page()
    tab.goto(write_report(made, tmp_path / "report").as_uri())
    tab.locator(DRAWN).nth(len(texts) - 1).wait_for()
    tab.evaluate("hash => { location.hash = hash; }", tab.locator("a[href^='#texts?q=']").first.get_attribute("href"))
    tab.locator("#found", has_text=" with ").wait_for()
    assert tab.locator(".texts .id").all_inner_texts() == [f"id {number}" for number in found]
    tab.close()


def test_a_search_looks_past_what_nobody_sees(chromium, tmp_path):
    texts = ["wunderbar", "wun\u200bderbar", "wun\xadder\u2060bar", "caf\xe9", "cafe\u0301", "می\u200cخواهم", "میخواهم"]
    texts += ["a.b", "👨\u200d👩 aab"]
    run = run_of(tmp_path / "run", [(attribution(text), ()) for text in texts])
    tab = chromium.new_page()
    made = summary(n=len(texts), label_column=None, group_column=None, run=run)
    tab.goto(write_report(made, tmp_path / "report").as_uri())
    tab.locator(DRAWN).nth(len(texts) - 1).wait_for()
    for typed, found in {
        "wunderbar": [0, 1, 2],
        "WUNDER\xadBAR": [0, 1, 2],
        "wun\u200bder\u200bbar": [0, 1, 2],
        "⟨200B⟩": [1],
        "\u200b": [],
        "\u200b \u200b": [],
        "caf\xe9": [3, 4],
        "cafe\u0301": [3, 4],
        "می\u200cخواهم": [5, 6],
        "میخواهم": [5, 6],
        "a.b": [7],
        "👨👩": [8],
        '"wunderbar"': [0],
    }.items():
        tab.get_by_label("Search in texts").fill(typed)
        tab.wait_for_function(
            "typed => document.getElementById('found').textContent.endsWith(' with ' + typed)", arg=typed
        )
        assert (typed, tab.locator(".texts .id").all_inner_texts()) == (typed, [f"id {number}" for number in found])
    tab.close()


def test_what_is_shown_of_a_text_is_not_cut_inside_of_a_flag(chromium, tmp_path):
    prediction = Prediction("pos", 1, 0.8125, {"neg": 0.1875, "pos": 0.8125}, multilabel=False)
    text = "x" + "🇩🇪" * 100 + " good " + "🇩🇪" * 100
    run = run_of(tmp_path / "run", [(attribution(text, prediction=prediction), ())])
    made = summary(n=1, label_column=None, group_column=None, run=run)
    tab = chromium.new_page()
    tab.goto(write_report(made, tmp_path / "report").as_uri())
    tab.locator(DRAWN).wait_for()
    assert tab.locator(".texts .chance").inner_text() == "81.2 %"
    assert tab.locator(".texts .snippet").inner_text() == "x" + "🇩🇪" * 49
    tab.get_by_label("Search in texts").fill("good")
    tab.locator(".texts mark").wait_for()
    assert tab.locator(".texts .snippet").inner_text() == "…" + "🇩🇪" * 8 + " good " + "🇩🇪" * 39
    tab.close()


def test_lines_of_texts_and_of_words_are_as_wide_as_their_lists(opened):
    tab = opened(viewport={"width": 1200, "height": 800})
    tab.locator(DRAWN).nth(2).wait_for()
    lines = tab.locator("summary.item, summary.row")
    assert lines.count() > 3
    assert lines.evaluate_all("all => all.map(line => line.clientWidth - line.closest('li').clientWidth)") == (
        [0] * lines.count()
    )


@pytest.fixture
def classified(chromium, tmp_path):
    """A function that opens the report of a run of two texts with predicted classes."""
    found = summary(n=2)
    settings = replace(found.settings, label_column=None, group_column=None)
    run = run_of(tmp_path / "run", [(attribution(), ()), (attribution(), ())])
    notes = (NoteCount("unstable", 1, 0.5, f"halves {'of the sample ' * 9}differ"),)
    path = write_report(replace(found, run=run, settings=settings, notes=notes), tmp_path / "report")
    tabs = []

    def classified(**options):
        tabs.append(chromium.new_page(**options))
        tabs[-1].goto(path.as_uri())
        return tabs[-1]

    yield classified
    for tab in tabs:
        tab.close()


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_a_class_and_its_probability_stand_on_one_line(classified, width):
    tab = classified(viewport={"width": width, "height": 800})
    tab.locator(DRAWN).nth(1).wait_for()
    line = """one => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size;
    }"""
    assert [one.evaluate(line) for one in tab.locator(".texts .class").all()] == [1, 1]


def test_a_text_leads_to_the_workbench_with_its_classes(chromium, tmp_path):
    run = run_of(tmp_path / "run", [(attribution(against="neg"), ()), (attribution(se=None), ())])
    found = replace(summary(n=2), run=run)
    found = replace(found, settings=replace(found.settings, label_column=None, group_column=None))
    tab = chromium.new_page()
    tab.goto(write_report(found, tmp_path / "report", workbench="/").as_uri())
    tab.locator(DRAWN).nth(1).wait_for()
    for line in tab.locator(".texts summary").all():
        line.click()
    link = tab.locator(".texts .workbench").first.get_attribute("href")
    assert parse_qs(urlsplit(link).fragment)["against"] == ["neg"]
    texts = tab.locator(".texts .body > .text")
    texts.nth(1).locator("b", has_text="dull").wait_for()  # these scores have no direction, and the first ones have one
    assert texts.nth(0).locator("i", has_text="dull").count() == 1
    tab.close()


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_names_of_notes_and_errors_are_not_broken(classified, width):
    tab = classified(viewport={"width": width, "height": 800})
    names = tab.locator(".plain-table tbody th")
    assert names.count() > 1
    lines = """all => all.map((one) => {
        const range = document.createRange();
        range.selectNodeContents(one);
        return range.getClientRects().length;
    })"""
    assert names.evaluate_all(lines) == [1] * names.count()


def test_axe_finds_nothing(opened):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make browser")
    tab = opened(bypass_csp=True, viewport={"width": 360, "height": 800})
    tab.locator(DRAWN).nth(2).wait_for()
    for line in tab.locator(".texts summary").all():
        line.click()
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    tab.add_script_tag(path=AXE)
    found = tab.evaluate("rules => axe.run({ runOnly: rules, resultTypes: ['violations'] })", RULES)["violations"]
    assert [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]] == []


def test_names_and_words_read_from_right_to_left_stand_before_their_numbers(chromium, tmp_path):
    label = "إيجابي"
    made = attribution("رائع film", [0.5, -0.25], se=0.01, label=label)
    run = run_of(tmp_path / "run", [(made, (label, "2024"))], kept=["label", "سنة"])
    path = write_report(summary(n=1, run=run, label_column="label", group_column=None), tmp_path / "report")
    tab = chromium.new_page()
    tab.goto(path.as_uri())
    tab.locator(DRAWN).first.wait_for()
    assert tab.locator("#class option").all_inner_texts()[1] == f"\u2068{label}\u2069 (1)"
    tab.locator(".texts summary").first.click()
    tab.locator(".texts .text b").first.hover()
    assert after(tab.locator(".texts .readout"), "رائع", "+0.500 ± 0.020")
    assert after(tab.locator(".texts .facts"), label, f"{made.fit.n_queries:,} evaluations")
    assert after(tab.locator(".texts .facts"), "سنة", "2024")
    tab.close()


def after(line, name, number):
    """Return whether a number stands in one piece on the right of a name."""
    boxes = """(line, parts) => {
        const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT), found = [];
        while (walker.nextNode()) {
            for (const part of parts) {
                const { currentNode: node } = walker, at = node.data.indexOf(part), range = document.createRange();
                if (at < 0) continue;
                range.setStart(node, at), range.setEnd(node, at + part.length);
                found.push([part, [...range.getClientRects()].map(({ left, right }) => [left, right])]);
            }
        }
        return Object.fromEntries(found.reverse());
    }"""
    line.filter(has_text=number).wait_for()
    found = line.evaluate(boxes, [name, number])
    return len(found[number]) == 1 and found[number][0][0] >= found[name][0][1] - 1


def test_scores_without_a_sign_have_no_plus(chromium, tmp_path):
    made = attribution("superb film", [0.5, 0.25], se=0.01, signed=False, notes=[("unsigned", "no sign")])
    run = run_of(tmp_path / "run", [(made, ("pos", "2024")), (attribution(), ("pos", "2024"))], kept=["label", "year"])
    found = summary(n=2, run=run, label_column="label", group_column=None)
    tab = chromium.new_page()
    tab.goto(write_report(found, tmp_path / "report").as_uri())
    tab.locator(DRAWN).nth(1).wait_for()
    for place, told in ((0, "superb 0.500 ± 0.020"), (1, "cast +0.030 ± 0.020")):
        line = tab.locator(".texts > li").nth(place)
        line.locator("summary").click()
        line.locator(".text b").first.hover()
        assert line.locator(".readout").inner_text() == told
    tab.close()
