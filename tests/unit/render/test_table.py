"""Tests of `mase.render.table`: what is written reads back, whatever the texts hold."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from mase.render.table import FORMATS, Cell, Table

AWKWARD = [
    "a|b",
    "5 % & <b>x</b>",
    r"\textbf{x}",
    "a_b*c`d",
    "#1 ~ $2^3$",
    'two, "three"',
    "=1+1",
    "é ↑ ≈ ± −",
    "[2pt]",
    "*",
    "}{",
]
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


COMMANDS = {
    "begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "textbf", "textbackslash", "textless",
    "textgreater", "textbar", "textasciitilde", "textasciicircum", "textasciigrave", "uparrow", "downarrow", "approx",
    "pm", "label",
}  # fmt: skip
SIGNS = {"uparrow": "↑", "approx": "≈", "pm": "±", "textbar": "|", "textasciigrave": "`", "textless": "<"}
SIGNS |= {"textgreater": ">", "textasciitilde": "~", "textasciicircum": "^", "textbackslash": "\\", "-": "−"}


def tokens(source):
    """Return the tokens of LaTeX as TeX reads them: commands, single characters, and nothing of a comment."""
    return re.findall(r"\\(?:[a-zA-Z]+ ?|.)|[^\\]", re.sub(r"(?<!\\)%.*", "", source), re.DOTALL)


def check_latex(source):
    """Check that groups, mathematics and environments are closed, and that each command is one that we mean."""
    depth, in_math, environments = 0, False, []
    for token in tokens(source):
        assert token not in "#_^~" or len(token) > 1, f"{token} is not escaped"
        depth += (token == "{") - (token == "}")
        assert depth >= 0, "a group ends before it begins"
        in_math ^= token == "$"
        if re.match(r"\\[a-zA-Z]", token):
            assert token[1:].strip() in COMMANDS
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", source):
        assert kind == "begin" or environments.pop() == name
        environments += [name] * (kind == "begin")
    assert (depth, in_math, environments) == (0, False, [])


def read_cell(cell):
    """Return the characters that TeX sets for a cell."""
    cell = re.sub(r"^(\{\})?(?:\\textbf\{(.*)\})?$", r"\2", cell) if cell.startswith(r"\textbf{") else cell
    cell = re.sub(r"\\text(\w+)\{\}|\$\\?(\w+|-)\$", lambda m: SIGNS.get(f"text{m[1]}") or SIGNS[m[2]], cell)
    return re.sub(r"\\([&%$#_{}])", r"\1", cell.removeprefix("{}"))


@pytest.mark.parametrize("caption", ["", "5 % of [a_b] ≈ \\x{"])
def test_latex_is_closed_and_sets_the_texts(caption):
    written = replace(TABLE, caption=caption).latex()
    check_latex(written)
    body = written.split("\\midrule\n")[1].split("\\bottomrule")[0]
    rows = [line.removesuffix(r" \\").split(" & ") for line in body.splitlines()]
    assert [[read_cell(cell) for cell in row] for row in rows] == [[text, text] for text in AWKWARD]
    assert body.count(r"\textbf{") == len(AWKWARD)
    assert not re.search(r"^[\[*]", body, re.MULTILINE)  # would be an argument of the line end before
    assert written.startswith(r"\begin{table}" if caption else r"\begin{tabular}")


def test_wrong_latex_is_found():
    for wrong in ("a_b", "{", "}{", "$x", r"\begin{table}", r"\textbf{a % b}", r"\input{x}"):
        with pytest.raises((AssertionError, IndexError)):
            check_latex(wrong)


def test_captions_are_quoted_like_cells():
    table = replace(TABLE, caption="<b> | *x* ")
    assert table.markdown().startswith("\\<b\\> \\| \\*x\\*\n\n| name |")
    assert "<caption>&lt;b&gt; | *x* </caption>" in table.html()
    assert table.csv() == TABLE.csv()


@pytest.mark.parametrize("ending", FORMATS)
def test_a_line_end_within_a_text_breaks_no_row(ending):
    written = FORMATS[ending](Table(("a", "b"), ((Cell("one\ntwo"), Cell("3")),)))
    assert written.endswith("\n")
    if ending in (".md", ".tex"):
        assert "one two" in written


def test_a_float_has_a_label_and_numbers_have_true_minus_signs():
    table = Table(("Delta Accuracy", "k=1"), ((Cell("mase-mask"), Cell("-0.123 [-0.2,-0.1]")),), "A caption.")
    written = table.latex()
    assert r"\label{tab:delta-accuracy}" in written
    assert r"mase-mask & $-$0.123 [$-$0.2,$-$0.1]" in written
