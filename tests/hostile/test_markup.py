"""Texts, labels and names that try to become markup or commands of the terminal."""

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from mase import Explainer
from mase.attribution import Note
from mase.models import Callable
from mase.render.html import page
from mase.render.terminal import heat_map
from tests.hostile import boxes, process, streams
from tests.hostile.payloads import PAYLOADS

# A character that a terminal acts upon, or that turns what follows around.
COMMANDS = {
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
} - set("\n\t")


class Outline(HTMLParser):
    """The elements of a page with the names of their attributes, and its security policy."""

    def __init__(self, markup):
        super().__init__()
        self.elements, self.policy, self.styles, self.words = Counter(), None, [], []
        self.inside_style = False
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements[(tag, tuple(sorted(name for name, _ in attributes)))] += 1
        values = dict(attributes)
        self.inside_style = tag == "style"
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"]
        if "style" in values:
            self.styles.append(values["style"])

    def handle_endtag(self, tag):
        self.inside_style = False

    def handle_data(self, data):
        if not self.inside_style:
            self.words.append(data)

    def handle_comment(self, data):
        self.elements[("comment", (data,))] += 1

    def handle_pi(self, data):
        self.elements[("instruction", (data,))] += 1

    def unknown_decl(self, data):
        self.elements[("declaration", (data,))] += 1


def explained(text, label, name):
    """Return an attribution in which all that comes from outside is what it is given, and a note quotes it."""
    model = Callable(boxes.table, [f"{label} a", f"{label} b"], name=name)
    found = Explainer(model, n_samples=32)(text)
    note = Note(name, f"a note about {text}")
    return replace(found, notes=(*found.notes, note))


_PLAIN = Outline(page([explained("good film", "x", "y")] * 2)).elements
# Elements of words of every strength, and the attributes of all elements: single letters are the library's own.
KNOWN = {tag for tag, _ in _PLAIN} | set("abisu") - {"a"} | {"mark", "span"}
ATTRIBUTES = {name for _, names in _PLAIN for name in names} | {"class", "title", "style"}


def foreign(outline):
    """Return which elements and attributes of a page no plain text makes, None if there are none."""
    tags = {tag for tag, _ in outline.elements} - KNOWN
    attributes = {name for _, names in outline.elements for name in names if len(name) > 1} - ATTRIBUTES
    return f"has the elements {tags} and the attributes {attributes}" if tags or attributes else None


def markup(payload):
    """Return what is wrong with the page and the fragment of a payload."""
    found = explained(payload, payload, payload)
    for shown in (page([found, found]), page([found]), found._repr_html_()):
        outline = Outline(shown)
        if foreign(outline):
            return foreign(outline)
        styled = [
            style for style in outline.styles if any(sign in style for sign in ("url", "expression", "@", "javascript"))
        ]
        if styled:
            return f"has the styles {styled}"
        if COMMANDS & set(shown):
            return f"has the characters {[hex(ord(c)) for c in COMMANDS & set(shown)]}"
        if "<!doctype" in shown and not (outline.policy or "").startswith("default-src 'none'"):
            return f"has the policy {outline.policy}"
        if "good" not in "".join(outline.words):
            return "does not show its text"
    return None


def terminal(payload):
    """Return what is wrong with what a terminal is sent of a payload, colours being off."""
    found, sent = explained(payload, payload, payload), StringIO()
    Console(file=sent, width=100, color_system=None).print(heat_map(found))
    shown = sent.getvalue() + repr(found)
    return f"sends {[hex(ord(c)) for c in COMMANDS & set(shown)]}" if COMMANDS & set(shown) else None


def payload_of(number):
    return markup(PAYLOADS[number]) or terminal(PAYLOADS[number])


@pytest.mark.hostile
def test_payloads(judge):
    judge(
        (PAYLOADS[number], verdict)
        for (number,), verdict in process.each(payload_of, [(n,) for n in range(len(PAYLOADS))])
    )


def test_a_sample_of_payloads(judge):
    numbers = np.random.default_rng(16).choice(len(PAYLOADS), 15, replace=False).tolist()
    judge((PAYLOADS[number], payload_of(number)) for number in numbers)


def test_the_outline_sees_markup():
    """What would be active is seen: a check that cannot fail proves nothing."""
    outline = Outline("<p title=x>good<script>alert(1)</script><img src=x onerror=y></p>")
    assert ("script", ()) in outline.elements
    assert ("img", ("onerror", "src")) in outline.elements


@pytest.mark.hostile
@pytest.mark.parametrize(
    "numbers", [range(start, min(start + 40, len(PAYLOADS))) for start in range(0, len(PAYLOADS), 40)]
)
def test_payloads_through_the_command(numbers, tmp_path, judge):
    """No text reaches standard output or error as a command, or the page as an element."""
    texts = [" ".join(PAYLOADS[number].splitlines()) for number in numbers]
    source, shown = tmp_path / "texts.txt", tmp_path / "page.html"
    source.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    arguments = ["explain", "-i", source, "-m", "lstm-imdb", "--n-samples", "16", "--html", shown]
    ran = process.mase(*arguments, scratch=tmp_path / "streams")
    sent = ran.out.decode() + ran.err
    verdicts = {
        "streams": streams.complaint(ran),
        "terminal": f"sends {COMMANDS & set(sent)!r}" if COMMANDS & set(sent) else None,
        "page": foreign(Outline(shown.read_text("utf-8"))),
    }
    judge(verdicts.items())


@pytest.mark.parametrize("option", ["--model", "--target", "--input", "--n-samples", "--method", "--html"])
def test_payloads_as_options(option, tmp_path, judge):
    """An error quotes what it refuses, without the commands in it."""
    ran = process.mase(
        "explain", "good film", option, "\x1b[31m<script>\x07/\x9b31m", scratch=tmp_path / "streams", cwd=tmp_path
    )
    sent = ran.out.decode() + ran.err
    judge([(option, streams.complaint(ran) or (f"sends {COMMANDS & set(sent)!r}" if COMMANDS & set(sent) else None))])
