"""Ids, texts, kept columns, labels and words of a run that try to become markup or script in its report."""

import json
import re

import pytest

from mase.errors import InvalidTextError
from mase.render.marks import inline, visible
from mase_corpora.report import write_report
from tests.attributions import attribution
from tests.hostile.payloads import PAYLOADS
from tests.hostile.test_markup import COMMANDS, Outline
from tests.runs import run_of
from tests.summaries import summary, word


def report(folder, payloads):
    """Write a report in which all that comes from outside is a payload, and return its folder."""
    kept, texts, words = ("__proto__", "constructor"), [], []
    for payload in payloads:
        made = attribution(payload, label=payload, link=payload, notes=[(payload, payload)])
        texts += [(made, (payload, payload), payload), ((payload, InvalidTextError(payload)), (payload, None), payload)]
        words.append(word(payload, payload))
    run = run_of(folder / "run", texts, kept=kept, model=payloads[0])
    found = summary(
        labels=payloads, words=words, model=payloads[0], message=payloads[0], label_column="__proto__",
        group_column="constructor", n=len(texts), run=run,
    )  # fmt: skip
    write_report(found, folder / "report")
    return folder / "report"


def complaint_of_page(source, plain):
    """Return what is wrong with a page, None if nothing is; `plain` are the elements of a page without payloads."""
    outline = Outline(source)
    foreign = {tag for tag, _ in outline.elements} - {tag for tag, _ in plain.elements} - set("bisu")
    names = {name for _, names in outline.elements for name in names if len(name) > 1}
    names -= {name for _, names in plain.elements for name in names} | {"title"}
    if foreign or names or source.count("<script") != 1:
        return f"has the elements {foreign}, the attributes {names} and {source.count('<script')} scripts"
    if COMMANDS & set(source):
        return f"has the characters {COMMANDS & set(source)!r}"
    return None if (outline.policy or "").startswith("default-src 'none'") else f"has the policy {outline.policy}"


def complaint_of_script(content):
    """Return what is wrong with a file of the list: it is one call with JSON, whatever a text says."""
    call = re.fullmatch(r"mase\.(index|texts|words)\((.*)\)\n", content, re.DOTALL)
    if call is None or "<" in content or "\u2028" in content or "\u2029" in content:
        return "is not one call with JSON"
    try:
        json.loads(f"[{call[2]}]")
    except ValueError as error:
        return f"is not JSON: {error}"
    return None


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = report(tmp_path_factory.mktemp("plain"), ["good film"])
    return Outline((folder / "index.html").read_text("utf-8"))


def check(folder, payloads, plain, judge):
    made = report(folder, payloads)
    judge([("page", complaint_of_page((made / "index.html").read_text("utf-8"), plain))])
    judge((path.name, complaint_of_script(path.read_text("utf-8"))) for path in (made / "list").iterdir())
    texts = [
        text
        for path in sorted((made / "list").glob("texts-*.js"))
        for text in json.loads(f"[{path.read_text('utf-8')[len('mase.texts(') : -2]}]")[1]
    ]
    assert [text["text"] for text in texts[::2]] == [visible(payload) for payload in payloads]
    judge((text["id"], "is not as it was" if text["id"] != inline(payload) else None)
          for text, payload in zip(texts[::2], payloads, strict=True) if len(payload) < 100)  # fmt: skip


@pytest.mark.hostile
@pytest.mark.parametrize("start", range(0, len(PAYLOADS), 10))
def test_payloads_in_a_report(start, tmp_path, plain, judge):
    check(tmp_path, PAYLOADS[start : start + 10], plain, judge)


def test_a_sample_of_payloads_in_a_report(tmp_path, plain, judge):
    check(tmp_path, PAYLOADS[::20], plain, judge)
