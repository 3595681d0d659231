"""The workbench in a real browser: what a reader does, and what must then be true."""

import json
import re
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from urllib.parse import urlencode

import httpx

import mase
from tests.browser.classifiers import LABELS
from tests.browser.conftest import MODELS, TOPICS
from tests.hostile.payloads import PAYLOADS

TEXT = "A dull start, but the last hour is wonderful."
COMPLAINT = "Please refund me because the film was dull"
LSTM, REFUNDS, LOANS = MODELS
# What axe checks: WCAG 2.2 AA, and its own advice.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Quick explanations, where it does not matter how good they are.
FEW = {"n_samples": "60"}
CLIPBOARD = ["clipboard-read", "clipboard-write"]


def state(prefix="", **settings):
    return "#" + urlencode({prefix + name: value for name, value in settings.items()})


def second(first, **settings):
    return state(**first) + "&b=&" + state("b.", **settings)[1:]


def test_typing_predicts_and_explains(browse):
    page = browse()
    page.tab.locator("#a-text").press_sequentially(TEXT)
    page.explained()
    found = mase.explain(TEXT, evidence=5)
    rows = page.part("prediction").locator("tr")
    rows.first.filter(has_text=f"{100 * found.prediction.probability:.1f}").wait_for()  # that of an earlier key before
    assert [row.split()[0] for row in rows.all_inner_texts()] == ["pos", "neg"]
    words = page.tab.locator("[data-side=a] .text [data-unit]")
    assert words.all_inner_texts() == list(found.words)
    assert found.evidence.flip_set.units == (8,)
    assert page.part("flip").locator("button").inner_text() == "“wonderful.”"
    assert not page.errors


def test_a_separate_question_flips_by_itself(browse):
    page = browse(state(model=TOPICS, text="refund me please", target="complaint"))
    page.explained()
    assert page.part("flip").locator("button").inner_text() == "“refund”"
    page.word(0).click()
    outcome = page.part("outcome")
    outcome.filter(has_text="10.0").wait_for()
    assert "praise" not in outcome.inner_text()
    assert "no longer" in outcome.inner_text()
    assert not page.errors


def test_a_word_that_is_out_shows_what_the_model_says_beside_the_scores(browse):
    page = browse(state(model=LSTM, text=TEXT, seed="1"))
    page.explained()
    page.word(8).click()
    rows = page.part("bars").locator("tr")
    rows.nth(1).wait_for()
    explainer = mase.Explainer(LSTM, seed=1, evidence=5)
    found = explainer(TEXT)
    changed = explainer.predict_without(found, [8])
    expected = 1 / (1 + 2.718281828459045 ** -(found.response - found.scores[8]))
    assert [f"{100 * value:.1f}" in text for value, text in zip((changed.target_probability, expected),
            rows.all_inner_texts(), strict=True)] == [True, True]  # fmt: skip
    assert page.word(8).get_attribute("aria-pressed") == "true"
    page.word(1).hover()  # the pointer passes other words on its way to the button
    assert "dull" in page.part("readout").inner_text()
    page.part("toggle").click()
    rows.first.wait_for(state="hidden")
    assert page.word(8).get_attribute("aria-pressed") == "false"


def test_a_word_at_the_lower_edge_is_taken_out_at_the_first_click(browse):
    """The test of the words comes to the lower edge as soon as the button of the mouse is down."""
    page = browse(state(model=REFUNDS, text="a refund or not " * 300, **FEW))
    page.explained()
    page.tab.mouse.move(0, 0)
    at = """words => words.map((word) => [word.dataset.unit, word.getBoundingClientRect()])
        .filter(([, { bottom }]) => bottom < innerHeight - 5 && bottom > innerHeight - 60)
        .map(([unit, { x, y }]) => [unit, x + 3, y + 8])[0]"""
    unit, x, y = page.tab.locator("[data-side=a] .text [data-unit]").evaluate_all(at)
    page.tab.mouse.click(x, y)
    assert page.word(int(unit)).get_attribute("aria-pressed") == "true"


def test_the_keyboard_is_enough(browse):
    page = browse(state(model=REFUNDS, **FEW))
    press = page.tab.keyboard.press
    page.tab.locator("#a-text:focus").wait_for()
    page.tab.keyboard.type(COMPLAINT)
    page.explained()
    press("Tab")
    assert page.tab.evaluate("document.activeElement.dataset.unit") == "0"
    press("ArrowRight")
    press("Enter")
    page.part("bars").wait_for()
    assert page.word(1).get_attribute("aria-pressed") == "true"
    assert "20.0" in page.part("bars").locator("tr").first.inner_text()  # as the function says without "refund"
    press("End")
    assert page.tab.evaluate("document.activeElement.textContent") == "dull"
    press("r")
    assert page.tab.evaluate("document.activeElement.value") == "dull"
    press("Escape")
    assert page.tab.evaluate("document.activeElement.textContent") == "dull"
    press(" ")
    page.tab.wait_for_url("**out=1%2C7*")


def test_a_reload_gives_the_same_page_and_back_goes_back(browse):
    settings = {
        "model": REFUNDS,
        "text": COMPLAINT,
        "target": LABELS[1],
        "method": "lime",
        "seed": "4",
        **FEW,
        "out": "1",
    }
    page = browse(state(**settings))

    def shown():
        page.part("bars").wait_for()
        page.part("prediction").locator("tr").first.wait_for()
        return [page.part(name).inner_text() for name in ("prediction", "result", "outcome", "bars")]

    before = [re.sub(r"[\d.]+ m?s\b", "", text) for text in shown()]  # without times
    page.tab.reload()
    assert [re.sub(r"[\d.]+ m?s\b", "", text) for text in shown()] == before
    assert page.tab.locator("#a-method").input_value() == "lime"
    page.tab.select_option("#a-method", "occlusion")
    page.tab.wait_for_url("**method=occlusion*")
    page.tab.go_back()
    page.tab.wait_for_url("**method=lime*")
    assert page.tab.locator("#a-method").input_value() == "lime"
    page.tab.go_forward()
    page.tab.wait_for_url("**method=occlusion*")
    assert page.tab.locator("#a-method").input_value() == "occlusion"


def test_a_replaced_word_opens_the_other_text_beside_the_first(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, **FEW))
    page.explained()
    page.word(1).focus()
    page.tab.keyboard.press("r")
    page.tab.keyboard.type("thank")
    page.tab.keyboard.press("Enter")
    page.compared()
    assert page.tab.locator("#b-text").input_value() == COMPLAINT.replace("refund", "thank")
    assert page.tab.locator("#a-text").input_value() == COMPLAINT
    alone = page.tab.locator(".alone").all_inner_texts()
    assert alone == ["refund", "thank"]
    page.part("close", "b").click()
    assert page.tab.locator(".panel").count() == 1
    assert "b=" not in page.tab.url


def test_two_methods_stand_side_by_side(browse):
    page = browse(second({"model": REFUNDS, "text": COMPLAINT, **FEW}, method="random"))
    assert "five strongest" in page.compared()
    boxes = [page.tab.locator(f"[data-side={side}]").bounding_box() for side in "ab"]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    page.tab.fill("#a-text", "refund it")  # the second panel has no text of its own
    page.tab.locator('[data-side=b] [data-unit="1"]', has_text="it").wait_for()
    assert page.tab.locator("#b-text").input_value() == "refund it"


def test_what_differs_is_beyond_both_intervals(browse):
    page = browse()

    def found(text, scores, errors, link="margin", against=None):
        places = [match.span() for match in re.finditer(r"\w+", text)]
        units = [{"field": "text", "start": i, "end": j, "text": text[i:j]} for i, j in places]
        response = {"name": "pos", "against": against, "link": link, "scores": scores, "standard_errors": errors}
        return {"document": [{"name": "text", "text": text}], "units": units, "responses": [response]}

    def differing(a, b):
        code = """async ([a, b]) => {
            const { units, alone } = (await import("/static/differences.js")).differences(a, b);
            return [...[units.a, units.b, alone.a, alone.b].map((set) => [...set])];
        }"""
        return page.tab.evaluate(code, [a, b])

    one = found("a b c", [1, 1, 1], [0.1, 0.1, 0.1])
    # 1.39 is within 1.96 * (0.1 + 0.1) of 1, and 1.40 is not
    assert differing(one, found("a b c", [1.39, 1.4, 0.6], [0.1, 0.1, 0.1])) == [[1, 2], [1, 2], [], []]
    assert differing(one, found("a x b c d", [1, 1, 5, 1, 1], [0.1] * 5)) == [[1], [2], [], [1, 4]]
    six = found("a b c d e f", [6, 5, 4, 3, 2, 1], [0.1] * 6)
    assert differing(six, found("a b c d e f", [6, 5, 4, 3, 1, -2], [0.1] * 6, "logit")) == [[4, 5], [4, 5], [], []]
    # a score of 0 is not among the strongest, however few words there are
    assert differing(one, found("a b c", [2, 0, 0], [0.1] * 3, "logit")) == [[1, 2], [1, 2], [], []]
    # nor have scores rather than different classes a common unit
    assert differing(one, found("a b c", [2, 0, 2], [0.1] * 3, against="neg")) == [[1], [1], [], []]
    exact = found("a b c", [1, -0.5, 1e-17], [0, 0, 0])
    assert differing(exact, found("a b c", [1 + 1e-15, -0.5, 0], [0, 0, 0])) == [[], [], [], []]
    assert differing(exact, found("a b c", [1.2, -0.59, 0], [0, 0, 0])) == [[0], [0], [], []]  # by a tenth of 1.2
    zeros = found("a b c d e f", [0, 3, 0, 0, 0, 0], [0.1] * 6)
    assert differing(zeros, found("a b c d e f", [0, 0, 0, 0, 0, 2], [0.1] * 6, "logit")) == [[1, 5], [1, 5], [], []]


def test_nothing_of_a_text_or_a_label_runs(browse):
    text = " ".join(PAYLOADS)[:15_000].replace("\r", "")  # of which a text area makes a line end
    page = browse(second({"model": REFUNDS, "text": text, **FEW}, text=PAYLOADS[1]))
    page.compared()
    page.word(3).click()
    page.part("outcome").locator("bdi").first.wait_for()
    assert page.tab.locator("#a-text").input_value() == text
    foreign = (
        "main :is(script, iframe, object, embed, img, style, link, base, meta, a:not([download]), [onerror], [onload])"
    )
    assert page.tab.locator(foreign).count() == 0
    assert not page.errors


def test_a_model_that_fails_says_why_and_goes_on(browse):
    page = browse(state(model=REFUNDS, text="boom, they said", **FEW))
    page.part("problem").wait_for()
    assert "<b>boom</b>" in page.part("problem").inner_text()
    page.tab.fill("#a-text", COMPLAINT)
    page.explained()
    assert page.part("problem").is_hidden()
    page.open(state(model="nobody", text=COMPLAINT))
    page.part("problem").wait_for()
    assert "nobody is not open here" in page.part("problem").inner_text()
    page.tab.select_option("#a-model", REFUNDS)
    page.explained()


def test_classes_have_the_probabilities_of_the_text_that_is_there(browse):
    page = browse(state(model=REFUNDS))
    classes = page.tab.locator("#a-target option")
    for text in ("", "boom"):
        page.tab.fill("#a-text", COMPLAINT)
        classes.filter(has_text=f"{LABELS[0]} · 90.0").wait_for(state="attached")
        page.tab.fill("#a-text", text)
        classes.filter(has_text="%").first.wait_for(state="detached")
        assert classes.all_inner_texts()[2:] == list(LABELS)


def test_copies_are_what_was_explained(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, **FEW), permissions=CLIPBOARD)
    page.explained()
    copied = {kind: page.copied(kind) for kind in ("python", "command", "json", "html")}
    assert json.loads(copied["json"])["document"][0]["text"] == COMPLAINT
    assert copied["html"].startswith("<!doctype html>")
    assert "n_samples=60" in copied["python"]
    assert copied["command"].startswith("mase explain ")


def test_axe_finds_nothing_in_either_scheme(browse):
    page = browse(second({"model": LSTM, "text": TEXT, "out": "8", **FEW}, method="lime"), reduced_motion="reduce")
    page.compared()
    page.part("bars").first.wait_for()
    page.part("fold").first.click()
    assert page.violations(RULES) == []
    # The contrast of other palettes is computed in tests/unit/render/test_templates_contrast.py.
    page.tab.evaluate("document.documentElement.dataset.scheme = 'dark'")
    assert page.violations(["color-contrast"]) == []


def test_nothing_is_wider_than_the_window(browse):
    text = f"{COMPLAINT} {'W' * 300} {'word ' * 100}"
    fragment = second({"model": REFUNDS, "text": text, **FEW}, text=text + " more")
    page = browse(fragment, viewport={"width": 360, "height": 800})
    page.compared()
    for part in ("fold", "flip"):
        page.part(part).first.scroll_into_view_if_needed()
    page.part("fold").first.click()
    for width in (360, 2560):
        page.tab.set_viewport_size({"width": width, "height": 800})
        assert page.tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_scheme_and_the_palette_are_kept(browse):
    page = browse(color_scheme="light")
    page.tab.click("summary:has-text('Display')")
    page.tab.select_option("#scheme", "dark")
    page.tab.select_option("#palette", "grey")
    page.tab.keyboard.press("Escape")
    assert page.tab.locator("#palette").is_hidden()
    page.tab.reload()
    page.tab.locator("body.workbench").wait_for()
    assert page.tab.evaluate("({ ...document.documentElement.dataset })") == {"scheme": "dark", "palette": "grey"}
    grey = "getComputedStyle(document.body).getPropertyValue('--for')"
    assert page.tab.evaluate(grey) == "160 160 160"
    page.tab.emulate_media(media="print")  # on white paper
    assert page.tab.evaluate(grey) == "110 110 110"
    assert page.tab.evaluate("getComputedStyle(document.body).color") == "rgb(29, 29, 32)"


def test_a_number_of_the_address_that_is_none_is_refused(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, n_samples="many"))
    page.part("problem").wait_for()
    assert "n_samples" in page.part("problem").inner_text()


def test_what_the_second_panel_shares_may_change_in_the_first(browse):
    """Its class and the words that are out fit the model and the text that it had."""
    page = browse(second({"model": LSTM, "text": TEXT, **FEW}, target="neg", out="1,1,8"))
    page.compared()
    assert page.outcome("b").startswith("Without “dull” and “wonderful.”: ")
    page.tab.select_option("#a-model", REFUNDS)
    page.tab.locator("#b-target option", has_text=LABELS[0]).wait_for(state="attached")
    page.compared()
    assert page.tab.locator("#b-target").input_value() == ""
    assert page.part("outcome", "b").inner_text() == ""


def test_a_link_of_another_site_opens_the_workbench(chromium, address):
    """Such as a terminal in a browser."""
    context = chromium.new_context()
    link = f'<a href="{address}">open</a>'
    context.route("http://terminal.test/", lambda route: route.fulfill(body=link, content_type="text/html"))
    tab = context.new_page()
    tab.goto("http://terminal.test/")
    tab.click("a")
    tab.locator("#a-text").wait_for()
    assert "token" not in tab.url
    tab.go_back()  # the address with the token is not in the history
    assert tab.url == "http://terminal.test/"
    context.close()


def test_a_server_on_another_port_gets_nothing_that_opens_the_workbench(chromium, address):
    """The page and the images of a server of another user, which the browser counts as the same site."""
    asked = []

    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, str(self.headers)))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<img src=/x.png><p id=kept></p>")

        def log_message(self, *arguments):
            pass

    own, _, token = address.partition("/?token=")
    with HTTPServer(("127.0.0.1", 0), Other) as other, chromium.new_context() as context:
        Thread(target=other.serve_forever, daemon=True).start()
        tab = context.new_page()
        tab.goto(address)
        tab.locator("#a-text").wait_for()
        corpus = tab.get_by_role("link", name="run").get_attribute("href")
        tab.goto(f"http://127.0.0.1:{other.server_port}/")
        tab.wait_for_load_state("networkidle")
        kept = tab.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, document.referrer])")
        assert [path for path, _ in asked] == ["/", "/x.png"]
        told = kept + "".join(headers for _, headers in asked)
        assert not any(secret in told for secret in (token, corpus.split("/")[1]))
        cookies = "; ".join(f"{one['name']}={one['value']}" for one in context.cookies(own))
        for path in ("/api/models", "/api/workbench", corpus[corpus.index("/corpora") :]):
            assert httpx.get(own + path, headers={"Cookie": cookies, "Origin": own}).status_code == 403
        new = context.new_page()  # without the token in its address, as a bookmark
        new.goto(own)
        new.locator("#a-text").wait_for()
        other.shutdown()


def test_all_classes_come_from_one_explanation(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, target="all", **FEW))
    page.explained()
    shown = page.tab.locator("#a-shown")
    assert shown.locator("option").all_inner_texts() == list(LABELS)
    before = page.word(1).get_attribute("title")
    shown.select_option(LABELS[1])
    page.tab.locator(".text [data-unit='1']", has_text="refund").and_(
        page.tab.locator(f':not([title="{before}"])')
    ).wait_for()
    page.word(1).click()
    page.part("bars").locator("tr").first.wait_for()
    assert "80.0" in page.part("bars").locator("tr").first.inner_text()  # the second class without "refund"
    assert "shown=" in page.tab.url
    assert not page.errors
    assert page.violations(RULES) == []


def test_one_class_is_explained_rather_than_another(browse):
    page = browse(state(model=REFUNDS, text=COMPLAINT, target=LABELS[0], **FEW))
    page.explained()
    page.part("fold").click()
    page.tab.select_option("#a-against", LABELS[1])
    page.explained()
    heading = page.tab.locator("[data-side=a] article .soft").first
    heading.get_by_text(LABELS[1]).wait_for()
    assert f"{LABELS[0]} rather than {LABELS[1]}" in heading.inner_text()
