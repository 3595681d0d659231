"""The pages of corpora in a real browser: from a word to its texts, and from a text to the workbench."""

import re

from tests.browser.reviews import N_TEXTS, SPECIAL
from tests.browser.test_workbench import RULES


def opened(browse, **options):
    """Return a page of the workbench, after its link to the run was followed."""
    page = browse(**options)
    page.tab.get_by_role("link", name="run").click()
    page.tab.wait_for_url("**/corpora/0/*/")
    page.tab.locator("#found", has_text=f"{N_TEXTS} texts").wait_for()
    return page


def test_from_a_word_to_its_texts_to_the_workbench(browse):
    page = opened(browse)
    tab, found = page.tab, page.tab.locator("#found")
    tab.locator("summary.row", has_text="wonderful").first.click()
    tab.get_by_role("link", name="All texts with “wonderful”").first.click()
    found.filter(has_text='20 texts with "wonderful"').wait_for()
    tab.get_by_label("Order").select_option("highest probability first")
    tab.get_by_label("Predicted class").select_option(label="pos (20)")
    tab.locator("summary.item").nth(1).filter(has_text="number 3.").click()
    tab.locator(".texts .text b", has_text="wonderful").wait_for()
    tab.get_by_role("link", name="Explain it in the workbench").click()
    page.explained()
    assert tab.locator("#a-text").input_value() == f"A wonderful film, number 3. {SPECIAL}"
    tab.go_back()
    found.filter(has_text='20 texts with "wonderful"').wait_for()
    tab.goto(re.sub("#.*", "#texts?only=wrong", tab.url))
    found.filter(has_text="4 texts").wait_for()
    assert not page.errors


def test_the_pages_are_accessible(browse):
    page = opened(browse)
    tab = page.tab
    for place in (".response summary", ".texts summary"):
        tab.locator(place).first.click()
    tab.locator(".texts .text [title]").first.wait_for()
    check(page)
    tab.goto(re.sub("/corpora/0/.*", "/corpora/1/", tab.url))
    tab.locator("h1", has_text="cannot be shown").wait_for()
    assert "line 1 is not JSON" in tab.locator(".warn").inner_text()
    check(page)
    assert not page.errors


def check(page):
    """Check a page on a wide light screen and on a narrow dark one."""
    for width, scheme, rules in ((1280, "light", RULES), (360, "dark", ["color-contrast", "target-size"])):
        page.tab.set_viewport_size({"width": width, "height": 900})
        page.tab.emulate_media(color_scheme=scheme)
        assert page.violations(rules) == []
        assert page.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
