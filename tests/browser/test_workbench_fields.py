"""The workbench with records of several fields in a real browser: numbers, truth values and fixed fields."""

import shlex

from click.testing import CliRunner

import mase
from mase.attribution.json import loads
from mase.cli import main
from mase.sources.rows import scalar_of
from tests.browser import classifiers
from tests.browser.test_workbench import CLIPBOARD, LOANS, RULES, state


def test_a_record_has_a_box_per_field(browse):
    """A number is masked by what the reader gives, and a fixed field is never masked."""
    page = browse(state(model=LOANS, fields="plea,age,id"))
    boxes = page.part("boxes").locator("textarea")
    boxes.nth(2).wait_for()
    for box, content in zip(boxes.all(), ("please help me", "30", "A1"), strict=True):
        box.fill(content)
    page.tab.get_by_role("textbox", name="masked as").nth(1).fill("40")
    page.tab.get_by_role("checkbox").nth(2).check()
    page.explained()
    record = {"plea": "please help me", "age": 30, "id": "A1"}
    opened = page.tab.evaluate("decodeURIComponent(location.hash)")
    assert "background.age=40" in opened
    assert "fixed=id" in opened
    words = page.tab.locator("[data-side=a] .text [data-unit]").all_inner_texts()
    found = mase.Explainer(mase.models.Callable(classifiers._loans), fixed=["id"], background={"age": 40})(record)
    assert words == list(found.words) == ["please", "help", "me", "30"]
    page.word(3).click()
    page.part("bars").locator("tr").nth(1).wait_for()
    assert "50.0" in page.part("bars").locator("tr").first.inner_text()  # as the function says at age 40
    page.part("replace").click()
    page.tab.keyboard.type("40")
    page.tab.keyboard.press("Enter")
    page.explained("b")
    assert page.tab.locator("[data-side=b] textarea").nth(1).input_value() == "40"
    assert not page.errors
    assert page.violations(RULES) == []


def read_by_the_page(page, text, settings):
    """Return the value of a field with these settings, and what replaces it."""
    code = """async (settings) => {
        const { backgroundOf, contentOf } = await import("/static/state.js");
        return [contentOf(settings).one, backgroundOf(settings).one];
    }"""
    return page.tab.evaluate(code, {"fields": "one", "text.one": text} | settings)


def test_values_are_read_as_the_command_line_reads_them(browse):
    page = browse()

    def read(text, background):
        return list(read_by_the_page(page, text, {"background.one": background}))

    for text, background in [("30", "40"), ("-1.50", "0.25e1"), ("true", "false"), ('"30"', '"40"'), ('"FR"', "DE")]:
        found = read(text, background)
        expected = [scalar_of(text), scalar_of(background)]
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))
    for codes in [("01234", "00000"), ("12345", "00000"), ("12345678901234567890", "0"), ("true", "FR"), ("0x1F", "1")]:
        assert read(*codes) == list(codes)  # strings if one of the two is no number that can be held exactly
    assert read("30", '"40"') == ["30", "40"]


def test_a_number_may_be_fixed(browse):
    settings = {"model": LOANS, "fields": "plea,age", "fixed": "age", "text.plea": "please help", "text.age": "30"}
    page = browse(state(**settings))
    page.explained()
    found = mase.Explainer(mase.models.Callable(classifiers._loans), fixed=["age"])({"plea": "please help", "age": 30})
    assert page.tab.locator("[data-side=a] .text [data-unit]").all_inner_texts() == list(found.words)
    texts = {"30": 30, "-1.5": -1.5, "true": True, "01234": "01234", '"30"': "30", '"Stop!"': '"Stop!"', "": ""}
    for text, value in texts.items():
        read, _ = read_by_the_page(page, text, {"fixed": "one"})
        assert (read, type(read)) == (value, type(value))


def test_copies_of_a_record_carry_its_values(browse):
    record = {"text.plea": "please help", "text.age": "true", "text.id": "01234"}
    masked = {"background.age": "false", "background.id": "00000"}
    settings = {"model": LOANS, "fields": "plea,age,id", **record, **masked}
    page = browse(state(**settings), permissions=CLIPBOARD)
    page.explained()
    shown = loads(page.copied("json"))
    assert [field.content for field in shown.document] == ["please help", True, "01234"]
    assert [field.background for field in shown.document] == [None, False, "00000"]
    _, command, *options = shlex.split(page.copied("command"))
    result = CliRunner().invoke(main, [command, "--json", *options])
    assert result.exit_code == 0, result.output
    again, scope = loads(result.stdout), {}
    exec(page.copied("python").replace("print(found)", ""), scope)
    assert again.document == scope["found"].document == shown.document
    assert list(again.scores) == list(scope["found"].scores) == list(shown.scores)
