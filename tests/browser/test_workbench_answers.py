"""The workbench of a language model in a real browser: prompts, answers and their sources."""

import mase
from tests.browser.conftest import RECALL
from tests.browser.test_workbench import RULES, state
from tests.language_models import recall

FIRST, SECOND = "The cat sat. A bird sang.", "The dog ran. It rained."
PROMPT = {"model": RECALL, "fields": "source 1,source 2", "text.source 1": FIRST, "text.source 2": SECOND}


def asked(**options):
    return mase.cite(recall, context=[FIRST, SECOND], query="Who moved?", **options)


def test_each_box_is_found_by_its_label(browse):
    page = browse(state(model=RECALL))
    page.tab.get_by_label("Rather than").and_(page.tab.locator("textarea")).fill("A dog.")
    page.tab.wait_for_url("**against=A+dog*")
    ids = page.tab.locator("[id]").evaluate_all("all => all.map((one) => one.id)")
    assert len(ids) == len(set(ids))


def test_a_prompt_is_typed_and_answered_by_the_keyboard_alone(browse):
    page = browse(state(model=RECALL))
    press, tab = page.tab.keyboard.press, page.tab
    tab.get_by_role("button", name="Add a source").wait_for()
    tab.locator("textarea:focus").wait_for()
    tab.keyboard.type(FIRST)
    press("Tab")
    press("Enter")  # add a source
    tab.keyboard.type(SECOND)
    press("Tab")
    press("Tab")
    press("Tab")
    tab.keyboard.type("Who moved?")
    assert tab.evaluate("document.activeElement.name") == "text.query"
    assert not page.part("stop").is_visible()  # nothing is asked at any key
    press("Control+Enter")
    page.explained()
    found = asked()
    answer = tab.locator(".said")
    assert answer.locator(".part").count() == 2
    assert answer.inner_text().startswith("aThe cat sat.[1]")
    assert tab.locator(".sources [data-unit]").all_inner_texts() == list(found.words)
    answer.locator(".p2 a").first.focus()
    press("Enter")  # the letter of the part
    tab.locator(".said .p2 [aria-current=true]").wait_for()
    assert tab.evaluate("document.activeElement.textContent") == "b"
    assert tab.locator("#a-shown").input_value() == "The dog ran."
    press("Tab")
    press("Enter")  # the number of its source
    assert tab.evaluate("document.activeElement.closest('.sources') !== null")
    assert "shown=The+dog+ran." in tab.url  # the links of the article leave the address alone
    press("Escape")
    assert not page.errors


def test_without_a_source_the_answer_is_less_probable_and_another_one(browse):
    settings = PROMPT | {"text.query": "Who moved?", "shown": "The dog ran.", "out": "2"}
    page = browse(state(**settings), viewport={"width": 360, "height": 800}, color_scheme="dark")
    page.part("again").wait_for()
    found, said = asked().of("The dog ran."), page.outcome()
    assert "log-probability of the part “The dog ran.” is −4.10 instead of −0.30; the scores said" in said
    assert f"{found.scores[2]:.2f}"[1:] in page.word(2).get_attribute("title")
    page.part("regenerate").click()
    page.tab.locator(".anew").wait_for()
    assert page.tab.locator(".anew").inner_text() == "without it, the model answers The cat sat."
    page.word(0).click()
    page.tab.locator(".anew").wait_for(state="detached")
    assert page.tab.evaluate("document.documentElement.scrollWidth") == 360
    assert page.violations(RULES) == []
    page.tab.route("**/answer", lambda route: None)  # a model that takes its time
    page.part("regenerate").click()
    with page.tab.expect_event("requestfailed", lambda request: request.url.endswith("/answer")):
        page.tab.locator("#a-text-query").fill("Who?")
    page.tab.locator("[data-part=result].stale").wait_for()  # of another prompt than the one that is typed
    assert page.part("copies").is_hidden()
    assert not page.errors
