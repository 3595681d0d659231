"""Tests of the page of `mase.render.html` in a browser: without script, and for everybody."""

import pytest

from mase.attribution import Prediction
from mase.render.html import PALETTES, page
from tests.attributions import attribution
from tests.browser.conftest import AXE

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


def of_class(label, probability, **changed):
    other = "neg" if label == "pos" else "pos"
    told = Prediction(label, 0, probability, {label: probability, other: 1 - probability})
    return attribution(label=label, other=other, prediction=told, **changed)


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page of four texts in a browser that runs no script of it."""
    path = tmp_path / "page.html"
    unstable = [("poor-fit", "halves differ")]
    path.write_text(
        page(
            [
                of_class("pos", 0.6, se=0.001),
                of_class("neg", 0.9, r2=0.7, notes=unstable),
                of_class("pos", 0.8, r2=0.6, notes=unstable),
                of_class("pos", 0.7, signed=False, se=0.2),
            ]
        ),
        encoding="utf-8",
    )
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


def shown(tab, selector):
    return [one.get_attribute("id") or one.inner_text() for one in tab.locator(selector).all() if one.is_visible()]


def test_texts_are_filtered_and_listed_without_script(opened):
    tab = opened(java_script_enabled=False)
    assert shown(tab, "article") == ["t1", "t2", "t3", "t4"]
    assert len(shown(tab, "nav a")) == 4
    tab.locator(".choices summary").click()
    tab.locator("#careful").check()
    assert shown(tab, "article") == ["t2", "t3", "t4"]
    tab.locator("#g2").check()
    assert shown(tab, "article") == ["t2"]
    tab.locator("#reliable").check()
    assert shown(tab, "article") == []
    assert tab.locator(".none").is_visible()
    tab.locator("#g0").check()
    tab.locator("#both").focus()
    tab.locator("#both").check()
    tab.locator("#by-fit").check()
    assert [text.split(".")[0].split()[-1] for text in shown(tab, "nav a")] == ["3", "2", "1", "4"]


def test_palettes_have_colours_of_their_own_in_either_scheme(opened):
    tab = opened(java_script_enabled=False, color_scheme="light")
    tab.locator(".choices summary").click()
    colours = set()
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for name, _ in PALETTES:
            tab.locator(f"#{name}").check()
            colour = "element => getComputedStyle(element).getPropertyValue('--for')"
            colours.add(tab.locator("main").evaluate(colour))
    assert len(colours) == 2 * len(PALETTES)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_scheme(opened, scheme):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make browser")
    tab = opened(color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    tab.locator(".choices summary").click()
    tab.locator("article summary").first.click()
    tab.add_script_tag(path=AXE)
    found = tab.evaluate("rules => axe.run({ runOnly: rules, resultTypes: ['violations'] })", RULES)["violations"]
    assert [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]] == []


def test_long_words_and_labels_stay_in_the_window(chromium, tmp_path):
    long, path = "W" * 200, tmp_path / "page.html"
    made = attribution(f"good {long}", [0.5, 0.4], label=long, other=f"un{long}", against=f"un{long}", link="margin")
    path.write_text(page([made, made], failures={3: long}), encoding="utf-8")
    for width in (320, 640):
        tab = chromium.new_page(viewport={"width": width, "height": 800})
        tab.goto(path.as_uri())
        for summary in tab.locator("summary").all():
            summary.click()
        assert tab.evaluate("document.documentElement.scrollWidth") == width
        ends = tab.locator("h2, p, nav a").evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)")
        assert max(ends) <= 0
        tab.close()


def test_the_list_shows_the_beginning_of_a_text_in_any_script(chromium, tmp_path):
    path = tmp_path / "page.html"
    text = "هذا الفيلم رائع جدا ولكن البداية كانت مملة للغاية"
    made = attribution(text, [0.1] * 9, label="إيجابي")
    path.write_text(page([made, made]), encoding="utf-8")
    tab = chromium.new_page(viewport={"width": 320, "height": 800})
    tab.goto(path.as_uri())
    label, beginning = tab.locator("nav a").first.locator("> *").all()
    assert label.evaluate("one => one.scrollWidth <= one.clientWidth")
    first = """one => {
        const range = document.createRange(), box = one.getBoundingClientRect();
        range.setStart(one.firstChild, 0), range.setEnd(one.firstChild, 3);
        const word = range.getBoundingClientRect();
        return word.left >= box.left && word.right <= box.right + 1;
    }"""
    assert beginning.evaluate(first)
    tab.close()


def test_what_is_printed_is_dark_on_white(opened):
    tab = opened(color_scheme="dark")
    ink = "() => getComputedStyle(document.querySelector('.text b')).color"
    assert tab.evaluate(ink) == "rgb(232, 230, 225)"
    tab.emulate_media(media="print")
    assert tab.evaluate(ink) == "rgb(29, 29, 32)"


def test_scores_in_a_text_from_right_to_left_are_read_from_left_to_right(chromium, tmp_path):
    """The sign of a score stands before it; in the direction of the text it would be behind."""
    path = tmp_path / "page.html"
    path.write_text(
        page([attribution("هذا الفيلم ليس رائع جدا أبدا", [0.5, -0.4, 0.3, -0.2, 0.1, 0.6])]), encoding="utf-8"
    )
    tab = chromium.new_page()
    tab.goto(path.as_uri())
    tab.locator(".every summary").click()
    direction = """word => {
        const { direction, unicodeBidi } = getComputedStyle(word, "::after");
        return [direction, unicodeBidi];
    }"""
    words = tab.locator(".text [title]")
    assert words.first.evaluate("word => getComputedStyle(word).direction") == "rtl"
    assert [word.evaluate(direction) for word in words.all()] == [["ltr", "isolate"]] * 6
    tab.close()
