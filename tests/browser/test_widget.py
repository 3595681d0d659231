"""The widget's script in a real browser, with the widget of Python behind it and no Jupyter between them."""

import pytest

import mase
from mase.notebook import Widget
from tests.answers import cited
from tests.browser.conftest import AXE

pytest.importorskip("anywidget")
playwright = pytest.importorskip("playwright.sync_api")

# The part of the model of Jupyter that the widget uses. What it saves goes to Python, whose state comes back.
MODEL = """async ([source, state]) => {
  const handlers = {}, dirty = new Set();
  const update = (changes) => {
    const before = { ...state };
    Object.assign(state, changes);
    for (const [name, value] of Object.entries(changes)) {
      if (JSON.stringify(before[name]) === JSON.stringify(value)) continue;
      for (const handler of [...(handlers[`change:${name}`] ?? [])]) handler();
    }
  };
  const model = {
    get: (name) => state[name],
    set: (name, value) => { dirty.add(name); update({ [name]: value }); },
    on: (event, handler) => (handlers[event] ??= new Set()).add(handler),
    off: (event, handler) => handlers[event].delete(handler),
    save_changes: async () => {
      const changes = Object.fromEntries([...dirty].map((name) => [name, state[name]]));
      dirty.clear();
      update(await window.python(changes));
    },
  };
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  window.fromPython = update;
  window.end = widget.render({ model, el: document.getElementById("here") });
  window.listeners = () => Object.values(handlers).reduce((sum, one) => sum + one.size, 0);
}"""
# Rules of a notebook that must not reach the widget.
PAGE = (
    "<!doctype html><style>b, u {display: none} .text {color: red}</style><p class=text>outside</p><div id=here></div>"
)
NAMES = ("css", "headlines", "can_ask", "index", "article", "attribution", "out", "answer")


@pytest.fixture
def show(chromium):
    """Return a function that opens a page with a widget. Errors and requests of the pages fail the test."""
    problems, pages = [], []

    def open_page(widget):
        def python(changes):
            for name, value in changes.items():
                setattr(widget, name, value)
            return {name: getattr(widget, name) for name in NAMES}

        page = chromium.new_page(viewport={"width": 360, "height": 700})
        pages.append(page)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if request.url[:5] != "blob:" else None)
        page.set_content(PAGE)
        page.expose_function("python", python)
        page.evaluate(MODEL, [widget._esm, python({})])
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not problems


@pytest.fixture(scope="module")
def explainer():
    def predict(texts):
        return [[0.1, 0.9] if "good" in text else [0.7, 0.3] for text in texts]

    return mase.Explainer(mase.models.Callable(predict, labels=["no", "yes"]), n_samples=60, evidence=2)


TEXTS = ["a good day", "<b>bad</b> \u202eweek", "all good"]


def word(page, unit):
    return page.locator(f".text [data-unit='{unit}']")


def test_a_word_is_clicked_out_and_in(show, explainer):
    page = show(Widget(explainer(TEXTS[0]), explainer))
    expect = playwright.expect
    word(page, 1).click()
    expect(word(page, 1)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status")).to_contain_text("Without “good”: yes 30.0 % instead of 90.0 %.")
    expect(page.locator(".outcome tr")).to_have_text(["the model says30.0 %", "the scores say30.0 %"])
    page.get_by_role("button", name="Put back").click()
    expect(word(page, 1)).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".outcome")).to_be_hidden()


def test_the_keyboard_is_enough(show, explainer):
    page = show(Widget(explainer(TEXTS), explainer))
    expect = playwright.expect
    page.keyboard.press("Tab")
    expect(page.get_by_role("listbox")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("article .text")).to_have_text("<b>bad</b> ⟨202E⟩week")
    page.keyboard.press("ArrowDown")
    expect(page.locator("article .text")).to_have_text("all good")
    page.keyboard.press("Tab")
    expect(word(page, 0)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(word(page, 1)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status")).to_contain_text("Without “good”: yes 30.0 %")


def test_python_can_choose(show, explainer):
    widget = Widget(explainer(TEXTS), explainer)
    page = show(widget)
    expect = playwright.expect
    widget.index, widget.out = 2, [0]
    page.evaluate("changes => window.fromPython(changes)", {name: getattr(widget, name) for name in NAMES})
    assert page.get_by_role("listbox").evaluate("list => list.selectedIndex") == 2
    expect(page.locator("article .text")).to_have_text("all good")
    expect(word(page, 0)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("status")).to_contain_text("Without “all”: yes 90.0 %")


def test_an_error_of_the_model_is_told(show, explainer):
    def failing(texts):
        raise RuntimeError("out of order")

    model = mase.models.Callable(failing, labels=["no", "yes"], name=explainer.model.name)
    page = show(Widget(explainer(TEXTS[0]), mase.Explainer(model)))
    word(page, 1).click()
    playwright.expect(page.get_by_role("status")).to_contain_text("out of order")


def test_styles_stay_where_they_belong_and_nothing_is_left_behind(show, explainer):
    page = show(Widget(explainer(TEXTS[0]), explainer))
    colour = "element => getComputedStyle(element).color"
    assert page.locator("p.text").first.evaluate(colour) == "rgb(255, 0, 0)"
    assert page.locator("article .text").evaluate(colour) == "rgb(0, 0, 0)"
    assert word(page, 1).is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate("window.listeners()") > 0
    page.evaluate("window.end()")
    assert page.evaluate("window.listeners()") == 0


def test_without_an_explainer_words_are_text(show, explainer):
    page = show(Widget(explainer(TEXTS[0])))
    word(page, 1).click()
    assert word(page, 1).get_attribute("role") is None
    assert page.locator("[data-part=trial]").count() == 0


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed: make browser")
def test_axe_finds_nothing_wrong(show, explainer):
    page = show(Widget(explainer(TEXTS), explainer))
    word(page, 1).click()
    page.evaluate(AXE.read_text("utf-8"))
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    run = "rules => axe.run(document.getElementById('here'), { runOnly: rules })"
    assert page.evaluate(run, rules)["violations"] == []


def test_citations_lead_to_their_sources_and_leave_the_address(show):
    found = cited()
    page = show(Widget(found, mase.Explainer(lambda texts: [[0.5, 0.5] for _ in texts])))
    expect = playwright.expect
    page.locator(".said .p2 a", has_text="[1]").click()
    back = page.locator(".back a.target")
    expect(back).to_be_focused()
    expect(back).to_have_text("b")
    page.locator("article h2").hover()
    expect(page.locator(".of2")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".said .p2.target a").first).to_be_focused()
    assert page.evaluate("location.hash") == ""
    expect(page.get_by_role("group", name="Words of the text")).to_contain_text("Paris is the capital")
    expect(page.locator(".sources + [data-part=trial]")).to_have_count(1)
