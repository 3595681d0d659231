"""Tests of `mase.render.table`: what is written reads back, whatever the texts hold."""

import csv
import io
import re
from html.parser import HTMLParser

import pytest

from mase.render.table import FORMATS, Cell, Table

AWKWARD = ["a|b", "5 % & <b>x</b>", r"\textbf{x}", "a_b*c`d", "#1 ~ $2^3$", 'two, "three"', "=1+1", "é ↑"]
TABLE = Table(("name", "T-1"), tuple((Cell(text), Cell(text, bold=True)) for text in AWKWARD))


class Cells(HTMLParser):
    """The texts of the cells of a table of HTML, and which elements it has."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags = [], set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag in ("td", "th"):
            self.texts.append("")

    def handle_data(self, data):
        if data.strip():
            self.texts[-1] += data


def test_csv_reads_back():
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows == [list(TABLE.head), *([text, text] for text in AWKWARD)]


def test_html_reads_back_and_holds_no_element_of_a_text():
    found = Cells(TABLE.html())
    assert found.texts == [*TABLE.head, *(text for text in AWKWARD for _ in range(2))]
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td", "b"}
    assert TABLE.html().count("<b>") == len(AWKWARD)


def test_markdown_has_one_cell_for_each():
    lines = TABLE.markdown().splitlines()
    assert lines[1] == "|---|---:|"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {3}
    for text, line in zip(AWKWARD, lines[2:], strict=True):
        first = re.split(r"(?<!\\)\|", line)[1].strip()
        assert re.sub(r"\\([\\`*_|<>\[\]])", r"\1", first) == text
        assert line.endswith("** |")


def test_latex_commands_are_those_of_the_table_alone():
    body = TABLE.latex().split("\\midrule\n")[1].split("\\bottomrule")[0]
    lines = body.splitlines()
    assert len(lines) == len(AWKWARD)
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {1}
    assert not re.search(r"(?<!\\)[%#_]", body)
    assert set(re.findall(r"\\([a-z]+)", body)) == {
        "textbf", "textbackslash", "textless", "textgreater", "textasciitilde", "textasciicircum", "uparrow",
    }  # fmt: skip
    assert body.count(r"\textbf{") == len(AWKWARD)


@pytest.mark.parametrize("ending", FORMATS)
def test_a_line_end_within_a_text_breaks_no_row(ending):
    written = FORMATS[ending](Table(("a", "b"), ((Cell("one\ntwo"), Cell("3")),)))
    assert written.endswith("\n")
    if ending in (".md", ".tex"):
        assert "one two" in written
