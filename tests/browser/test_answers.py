"""Tests of pages of answers in a browser: without script, and for everybody."""

import pytest

from mase.render.html import page
from tests.answers import cited
from tests.browser.conftest import AXE
from tests.browser.test_html import RULES

# A long text in another direction, and more texts than are unfolded.
MORE = {f"file {number}.txt": "هذا نص طويل عن النيل." for number in range(12)}


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page of two answers."""
    path = tmp_path / "page.html"
    many = cited("Yes. No.", ((0, 4), (5, 8)), [[5.0, *[0.0] * 11]] * 2 + [[-5.0] + [0.0] * 11], sources=MORE)
    path.write_text(page([cited(), many]), encoding="utf-8")
    contexts = []

    def opened(**options):
        contexts.append(chromium.new_context(**options))
        tab = contexts[-1].new_page()
        tab.goto(path.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()


def strength(tab, text):
    code = "element => getComputedStyle(element).getPropertyValue('--k')"
    return float(tab.locator("#t1 .u", has_text=text).evaluate(code))


def test_sources_are_reached_by_keys_and_shaded_for_the_part_without_script(opened):
    tab = opened(java_script_enabled=False)
    paris, seine = "Paris is the capital", "The Seine flows"
    whole = strength(tab, paris), strength(tab, seine)
    assert whole[0] > whole[1] > 0
    assert tab.locator("#t1 .of0").is_visible()
    number = tab.locator("#t1 .said .p2 a", has_text="[1]")
    number.focus()
    tab.keyboard.press("Enter")
    assert strength(tab, seine) > strength(tab, paris) > 0
    assert tab.locator("#t1 .of2").is_visible()
    assert not tab.locator("#t1 .of0").is_visible()
    back = tab.locator("#t1 .back a:target")
    assert back.inner_text() == "b"
    tab.keyboard.press("Enter")  # the link back has the focus
    assert tab.locator("#t1 .said .part:target").inner_text().startswith("b")
    tab.locator("#t1 .said .p3").hover()
    assert strength(tab, "It has two") > 0
    assert tab.locator("#t1 .of3").is_visible()
    tab.locator("h1").hover()
    assert tab.locator("#t1 .of2").is_visible()


def test_a_page_of_several_marks_what_to_read_with_care_in_its_list_alone(chromium, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(page([cited(notes=[("poor-fit", "halves differ")]), cited()]), encoding="utf-8")
    with chromium.new_context() as context:
        tab = context.new_page()
        tab.goto(path.as_uri())
        before = "element => getComputedStyle(element, '::before').content"
        assert tab.locator("nav .care a").first.evaluate(before) == '"care · "'
        assert tab.locator("article.care .said a").first.evaluate(before) == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_scheme(opened, scheme):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make browser")
    tab = opened(color_scheme=scheme, bypass_csp=True, viewport={"width": 360, "height": 800})
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
    for summary in tab.locator("article summary").all():
        summary.click()
    tab.locator("#t1 .said .p2 a").first.click()
    tab.add_script_tag(path=AXE)
    found = tab.evaluate("rules => axe.run({ runOnly: rules, resultTypes: ['violations'] })", RULES)["violations"]
    assert [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]] == []
