"""Tests of what a reader of the workbench is told: in any script, of values, while it is computed, and on a phone."""

import re

from markupsafe import escape

from tests.browser.classifiers import MOODS as LABELS
from tests.browser.conftest import MODELS, MOODS, PRICES, RECALL, SLOW, TOPICS
from tests.browser.test_workbench import CLIPBOARD, COMPLAINT, FEW, REFUNDS, second, state

LSTM = MODELS[0]
# Articles are given to the page when the test asks for it, whether or not the page still waits for them.
HELD = """() => {
    const fetched = fetch;
    window.held = [];
    window.fetch = async (path, options) => {
        if (!String(path).includes("/article?")) return fetched(path, options);
        const html = await (await fetched(path)).text();
        return new Promise((resolve) => held.push(() => resolve(new Response(html))));
    };
}"""
GIVEN = """async () => {
    held.shift()();
    for (let i = 0; i < 5; i++) await new Promise((then) => setTimeout(then));
}"""


def test_labels_read_from_right_to_left_stand_before_their_numbers(browse):
    page = browse(state(model=MOODS, text="هذا الفيلم رائع جدا", out="2,3"))
    said = page.outcome()
    assert said.startswith("Without “رائع” and “جدا”: ")
    alone = page.part("outcome").locator("bdi").all_inner_texts()
    assert alone == ["رائع", "جدا", *LABELS]
    boxes = [one.bounding_box() for one in page.part("flip").locator("bdi").all()]
    assert page.part("flip").locator("bdi").all_inner_texts() == ["رائع", LABELS[1]]
    assert page.part("flip").locator(".chip").inner_text() == "“رائع”"
    number = """line => {
        const range = document.createRange(), last = line.lastChild;
        range.setStart(last, last.data.indexOf("80.0")), range.setEnd(last, last.data.indexOf("80.0") + 4);
        return range.getBoundingClientRect().left;
    }"""
    assert page.part("flip").evaluate(number) >= boxes[1]["x"] + boxes[1]["width"]


def test_there_is_no_verdict_before_the_end(browse):
    text = " ".join(f"word{number}" for number in range(30))
    page = browse(state(model=SLOW, text=text))
    partial = page.tab.locator(".verdict.partial")
    partial.wait_for()
    assert re.fullmatch(r"So far, [1-9]\d* of \d+ evaluations", partial.inner_text())
    page.part("stop").click()
    page.part("status").filter(has_text="Stopped").wait_for()
    assert re.fullmatch(r"So far, [1-9]\d* of \d+ evaluations", page.tab.locator(".verdict").inner_text())
    assert page.violations(["wcag2a", "wcag2aa"]) == []
    page.open(state(model=SLOW, text="word1 word2 word3"))
    page.explained()
    assert "So far" not in page.tab.locator(".verdict").inner_text()


def test_a_value_is_told_once_and_without_probabilities(browse):
    page = browse(state(model=PRICES, text="one two three four", out="1"))
    said = page.outcome().removesuffix(" Put it back")
    assert said == "Without “two”: price 30,000 instead of 40,000; the scores led to expect 30,000."


def test_classes_beyond_those_with_a_bar_are_counted(browse):
    page = browse(state(model=LSTM, text="A dull start."))
    page.explained()
    assert "more" not in page.part("prediction").inner_text()
    shown = """async () => {
        const { Prediction } = await import("/static/prediction.js");
        const root = document.createElement("div"), table = document.createElement("table");
        table.dataset.part = "prediction";
        root.append(table);
        const one = new Prediction(root, {});
        one.numbers = new Map([...Array(40).keys()].map((place) => [`c${place}`, 1 / (place + 2)]));
        one.show("c9");
        return root.innerText;
    }"""
    assert page.tab.evaluate(shown).endswith("and 35 more")


def test_menus_stay_in_a_narrow_window(browse):
    page = browse(state(model=LSTM), viewport={"width": 320, "height": 600})
    for name in ("Display", "Keys"):
        page.tab.locator("summary", has_text=name).click()
        box = page.tab.locator(".menu[open]>div").bounding_box()
        assert box["x"] >= 0
        assert box["width"] > 240
        assert box["x"] + box["width"] <= 320
        page.tab.keyboard.press("Escape")


def test_the_scores_are_those_of_the_class_that_was_chosen_last(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, target="all", **FEW))
    page.explained()
    shown, heading = page.tab.locator("#a-shown"), page.tab.locator("[data-side=a] article .soft bdi").first
    first, second = shown.locator("option").all_inner_texts()
    page.tab.evaluate(HELD)
    for chosen in (second, first):
        shown.select_option(chosen)
    page.tab.wait_for_function("() => held.length === 1")
    page.tab.evaluate(GIVEN)
    assert (heading.inner_text(), shown.input_value()) == (first, first)
    shown.select_option(second)
    page.tab.wait_for_function("() => held.length === 1")
    page.tab.go_back()
    page.tab.wait_for_url(lambda url: url.endswith(f"shown={first}"))
    assert (heading.inner_text(), shown.input_value()) == (first, first)
    page.tab.evaluate(GIVEN)
    assert (heading.inner_text(), shown.input_value()) == (first, first)
    assert not page.errors


def test_no_word_can_be_replaced_in_an_explanation_that_is_gone(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, target="all", **FEW))
    page.explained()
    page.word(0).focus()
    page.tab.keyboard.press("r")
    page.part("replacement").wait_for()
    page.tab.route("**/article?**", lambda route: route.fulfill(status=503, json={}))
    page.tab.locator("#a-shown").select_option(index=1)
    page.part("problem").filter(has_text="503").wait_for()
    assert page.part("replacement").is_hidden()


def test_evaluations_and_time_are_of_the_same_explanations(browse):
    fact = """async (zoomed) => {
        const { facts } = await import("/static/facts.js");
        return facts({ fit: { n_queries: 1000, seconds: 1.25 }, zoomed, responses: [{ r2: null, r2_held_out: null }] });
    }"""
    page = browse()
    zoomed = {"fit": {"n_queries": 500, "seconds": 2}}
    assert page.tab.evaluate(fact, zoomed) == "1,500 evaluations in 3.3 s"
    assert page.tab.evaluate(fact, None) == "1,000 evaluations in 1.3 s"


def test_a_chosen_word_is_no_sentence(browse):
    page = browse(state(model=REFUNDS, text="Please refund me. It was dull.", **FEW))
    page.explained()
    page.word(1).focus()
    page.part("readout").filter(has_text="refund").wait_for()
    page.part("fold").click()
    page.tab.fill("#a-units", "sentence")
    page.tab.keyboard.press("Enter")
    page.tab.locator(".text [data-unit]", has_text="It was dull.").wait_for()
    page.explained()
    assert page.part("actions").is_hidden()
    assert "dull" not in page.part("readout").inner_text()


def test_an_answer_that_failed_can_be_asked_for_again(browse):
    page = browse(state(model=RECALL))
    page.tab.route("**/api/explanations", lambda route: route.fulfill(status=503, json={}), times=1)
    page.tab.get_by_label("Context").fill("The cat sat. A bird sang.")
    page.tab.get_by_label("Query").fill("Who sat?")
    ask = page.tab.get_by_role("button", name="Answer and find the sources")
    ask.click()
    page.part("problem").filter(has_text="503").wait_for()
    ask.click()
    page.explained()
    assert page.part("problem").is_hidden()


def test_an_explanation_that_failed_is_not_asked_for_by_the_other_panel(browse):
    page, refused = browse(), []

    def refuse(route):
        if route.request.post_data_json["text"] != COMPLAINT:
            return route.fallback()
        refused.append(route)
        return route.fulfill(status=503, json={})

    page.tab.route("**/api/explanations", refuse)
    page.open(second({"model": REFUNDS, "text": COMPLAINT, **FEW}, text="no money"))
    page.part("problem").filter(has_text="503").wait_for()
    page.tab.fill("#b-text", "money back")
    page.tab.locator('[data-side=b] [data-unit="1"]', has_text="back").wait_for()
    assert page.part("problem").is_visible()
    assert len(refused) == 1


def test_a_prediction_of_a_former_text_is_pale(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, **FEW))
    page.explained()
    assert page.tab.locator(".stale").count() == 0
    held = []
    page.tab.route("**/api/predictions", lambda route: held.append(route))
    with page.tab.expect_request("**/api/predictions"):
        page.tab.fill("#a-text", "no money")
    page.tab.locator("[data-part=prediction].stale", has_text="90.0").wait_for()
    held[0].continue_()
    page.tab.locator("[data-part=prediction]:not(.stale)", has_text="80.0").wait_for()


def test_a_sentence_of_two_lines_is_replaced_by_one_with_all_its_words(browse):
    page = browse(state(model=REFUNDS, text="Please\nrefund me. It was dull.", units="sentence", **FEW))
    page.explained()
    page.word(0).focus()
    page.tab.keyboard.press("r")
    assert page.part("by").input_value() == "Please refund me."


def test_a_unit_that_nobody_sees_has_a_name_wherever_it_is_told(browse):
    hidden = "refund\u200b \u200b\u200b ok"
    page = browse(state(model=REFUNDS, text=hidden, **FEW))
    page.explained()
    assert page.part("flip").locator(".chip").inner_text() == "“refund⟨200B⟩”"
    page.word(1).click()
    assert page.outcome().startswith("Without “⟨200B⟩⟨200B⟩”: ")
    assert page.part("readout").locator(".name").inner_text() == "⟨200B⟩⟨200B⟩"
    page.tab.keyboard.press("r")
    assert page.part("replaced").inner_text() == "Instead of “⟨200B⟩⟨200B⟩”"


def test_a_link_of_a_corpus_opens_the_model_that_its_results_name(browse):
    """Results name a function as itself, and not the file that it is in."""
    page = browse(state(model="_probabilities", text=COMPLAINT, **FEW))
    page.explained()
    assert page.tab.locator("#a-model").input_value() == REFUNDS
    page.open(second({"model": REFUNDS, "text": COMPLAINT, **FEW}, model="_topics"))
    page.compared()
    assert page.tab.locator("#b-model").input_value() == TOPICS


def test_a_line_end_is_told_as_in_the_list(browse):
    page = browse(state(model=REFUNDS, text="Please\nrefund me. It was dull.", units="sentence", out="0", **FEW))
    assert page.outcome().startswith("Without “Please␊refund me.”: ")
    assert page.tab.locator("aside th").first.inner_text() == "Please␊refund me."


def test_a_page_is_of_the_class_whose_scores_are_shown(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, target="all", **FEW), permissions=CLIPBOARD)
    page.explained()
    shown, heading = page.tab.locator("#a-shown"), page.tab.locator("[data-side=a] article .soft bdi").first
    for label in shown.locator("option").all_inner_texts()[::-1]:
        shown.select_option(label)
        heading.and_(page.tab.get_by_text(label, exact=True)).wait_for()
        copied = page.copied("html")
        assert f"<bdi>{escape(label)}</bdi>" in re.search("<p class=soft>(.*?)</p>", copied)[1]
        with page.tab.expect_download() as saved:
            page.part("download").click()
        assert saved.value.path().read_text("utf-8") == copied


def test_the_probability_of_a_class_is_behind_its_name_in_the_list(browse):
    page = browse(state(model=MOODS, text="هذا الفيلم رائع جدا"))
    page.explained()
    options = page.tab.locator("#a-target option").all_inner_texts()
    assert [option.replace("\u00a0", " ") for option in options[2:]] == [
        f"\u2068{label}\u2069 · {share} %" for label, share in zip(LABELS, (90.0, 10.0), strict=True)
    ]
