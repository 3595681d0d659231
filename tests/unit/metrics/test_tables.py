"""Tests of `mase.metrics.tables`."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from math import nan

import numpy as np
import pytest

from mase.metrics.tables import (
    FORMATS,
    Cell,
    ResultColumn,
    ResultTable,
    Standing,
    Table,
    can_differ,
    long_table,
    standings,
)
from mase.statistics import (
    Summary,
    paired_means,
    paired_share,
    permutation_p_values,
    summaries_of_means,
    summary_of_share,
)


def standing(mean, mark="", p_value=None, n=100, sd=None):
    return Standing(Summary(mean, mean - 0.05, mean + 0.05, n, sd, 1), mark, p_value)


SHARE = ResultColumn(
    "k=1", "higher", True, {"a": standing(0.5, "best"), "b": standing(0.45, "tied", 0.3), "c": standing(0.1, "", 0.01)}
)


MEAN = ResultColumn(
    "mean", "lower", False, {"a": standing(0.5), "b": Standing(None), "c": standing(0.001, "best", n=60, sd=0.02)}
)


TABLE = ResultTable("flips", (SHARE, MEAN), {"a": 100, "b": 100, "c": 80}, "model m")


def test_the_table_marks_the_best_and_those_not_shown_to_be_worse():
    table = TABLE.table()
    assert table.head == ("flips", "k=1 (↑)", "mean (↓)")
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a", "0.500 [0.450,0.550]", "0.500 [0.450,0.550]"],
        ["b", "0.450 [0.400,0.500] ≈", "-"],
        ["c (80 of 100 texts)", "0.100 [0.050,0.150] (100)", "0.001 ±0.020 [-0.049,0.051] (60)"],
    ]
    assert [[cell.bold for cell in row] for row in table.rows] == [
        [False, True, False], [False, False, False], [False, False, True]
    ]  # fmt: skip


def test_the_caption_names_the_texts_and_the_test():
    assert TABLE.caption.startswith("flips (model m): means over 100 texts with 95 % intervals.")
    assert "McNemar's exact test (shares) or a paired permutation test" in TABLE.caption
    for column, other in ((SHARE, "permutation"), (MEAN, "McNemar")):
        assert other not in ResultTable("x", (column,), {"a": 100, "b": 100, "c": 100}).caption
    alone = ResultColumn("mean", "lower", False, {"a": standing(0.5)})
    assert ResultTable("x", (alone,), {"a": 100}).caption == "x: means over 100 texts with 95 % intervals."


def test_numbers_read_back_from_csv():
    rows = list(csv.DictReader(io.StringIO(long_table([TABLE], [("cost", "seconds", "a", "0.1")]).csv())))
    assert [row["mark"] for row in rows] == ["best", "not worse", "", "", "", "best", ""]
    assert [(row["method"], row["mean"], row["p_value"]) for row in rows[:2]] == [
        ("a", "0.5", ""),
        ("b", "0.45", "0.3"),
    ]
    assert {row["mean"] for row in rows if row["method"] == "b" and row["column"] == "mean"} == {""}
    smallest = rows[5]
    assert (smallest["better"], smallest["n_texts"], float(smallest["low"])) == ("lower", "60", pytest.approx(-0.049))
    assert float(smallest["sd_over_batches"]) == 0.02
    assert [rows[-1][name] for name in ("table", "column", "method", "mean")] == ["cost", "seconds", "a", "0.1"]


def test_what_was_not_compared_is_not_drawn_as_worse():
    def drawn(values):
        (panel,) = ResultTable(
            "m", (ResultColumn("c", "higher", False, found(values)),), dict.fromkeys(values, 40)
        ).panels()
        return {dot.method: dot.mark for dot in panel.dots}

    assert drawn(VALUES) == {"bad": "", "good": "best", "near": "tied"}
    assert drawn({"a": NOISE, "b": NOISE}) == {"a": None, "b": None}


def test_panels_have_a_line_for_every_method():
    share, mean = TABLE.panels()
    assert [dot.method for dot in share.dots] == [dot.method for dot in mean.dots] == ["a", "b", "c"]
    assert [dot.mark for dot in share.dots] == ["best", "tied", ""]
    assert (share.dots[1].mean, share.dots[1].low) == (0.45, 0.45 - 0.05)
    assert mean.dots[1].mean != mean.dots[1].mean
    unbounded = ResultColumn("mean", "lower", False, {"a": Standing(Summary(0.5, nan, nan, 1, None, 1))})
    assert ResultTable("x", (unbounded,), {"a": 1}).table().rows[0][1].text == "0.500"


def found(values, better="higher", n_explained=None):
    """Return the standings of methods with these values of each text (NaN for a missing one)."""
    table = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
    summaries = dict(zip(table, summaries_of_means(np.stack(list(table.values()), axis=1)), strict=True))
    pairs = list(combinations(table, 2))
    gaps = paired_means(np.stack([table[one] - table[two] for one, two in pairs], axis=1)) if pairs else ()
    return standings(summaries, dict(zip(pairs, gaps, strict=True)), better, n_explained)


def marks(values, better="higher"):
    return {name: standing.mark for name, standing in found(values, better).items()}


NOISE = np.tile([0.3, -0.3, 0.1, -0.1], 10)


VALUES = {"bad": NOISE - 0.5, "good": NOISE + 0.2 + 0.1 * NOISE[::-1], "near": NOISE + 0.2 - 0.001}


def test_the_best_and_what_is_not_shown_to_be_worse():
    assert marks(VALUES) == {"bad": "", "good": "best", "near": "tied"}
    assert marks(VALUES, "lower") == {"bad": "best", "good": "", "near": ""}
    assert marks(dict(reversed(VALUES.items()))) == {"near": "tied", "good": "best", "bad": ""}


def test_p_values_are_adjusted_for_all_pairs_by_holm():
    """Three pairs, of which the two with `bad` are the most certain: the p-values are multiplied by 3 and by 2."""
    result, gaps = found(VALUES), np.stack([VALUES["bad"] - VALUES[name] for name in ("good", "near")], axis=1)
    with_best, other = permutation_p_values(gaps).tolist()
    assert result["bad"].p_value == pytest.approx(with_best * 3 if with_best < other else max(with_best * 2, other * 3))
    assert result["good"].p_value is None
    assert result["near"].p_value > 0.05


def test_equal_means_are_all_the_best_unless_none_is_worse():
    assert marks({"a": NOISE, "b": NOISE, "c": NOISE - 1}) == {"a": "best", "b": "best", "c": ""}
    assert marks({"a": NOISE, "b": NOISE[::-1]}) == {"a": "", "b": ""}


@pytest.mark.parametrize(
    ("n_texts", "n_methods", "is_marked"), [(5, 2, False), (6, 2, True), (7, 4, False), (8, 4, True)]
)
def test_so_few_texts_that_no_test_could_show_anything_have_no_marks(n_texts, n_methods, is_marked):
    """Even if one method is worse on every text."""
    values = {str(method): np.full(n_texts, -float(method)) + 0.01 * NOISE[:n_texts] for method in range(n_methods)}
    assert any(marks(values).values()) == is_marked
    assert can_differ(n_texts, n_methods) == is_marked


def test_a_single_method_and_missing_values_are_not_marked():
    missing = np.full(40, np.nan)
    assert marks({"a": NOISE}) == {"a": ""}
    assert found({"a": NOISE, "none": missing})["a"].mark == ""
    result = found(VALUES | {"none": missing})
    assert result["none"] == Standing(None)
    assert result["good"].mark == "best"


def test_a_method_that_failed_on_hard_texts_is_not_the_best():
    """It has a higher mean on the easy texts that it could explain, and is compared on these."""
    easy = np.arange(40) < 20
    whole = np.where(easy, 0.9, 0.1) + 0.01 * NOISE
    behind, ahead = (np.where(easy, whole + shift, np.nan) for shift in (-0.2, 0.05))
    assert np.nanmean(behind) > whole.mean()
    assert marks({"whole": whole, "behind": behind}) == {"whole": "best", "behind": ""}
    assert marks({"whole": whole, "ahead": ahead}) == {"whole": "best", "ahead": "tied"}
    undefined = found({"whole": whole, "ahead": ahead}, n_explained={"whole": 40, "ahead": 40})
    assert {name: standing.mark for name, standing in undefined.items()} == {"whole": "", "ahead": "best"}
    apart = np.where(easy, np.nan, 0.0), np.where(easy, 0.0, np.nan)
    assert marks({"a": apart[0], "b": apart[1]}) == {"a": "", "b": ""}  # no text in common: no test


def test_equal_methods_are_seldom_called_worse():
    """Ten equal methods: in at most 5 % of the tables is any called worse than the best.

    All pairs count: the best was found by looking at all.
    """
    rng, n_wrong = np.random.default_rng(0), 0
    for _ in range(100):
        hits = rng.random((10, 300)) < 0.5
        summaries = {f"{i}": summary_of_share(row) for i, row in enumerate(hits)}
        gaps = {(f"{i}", f"{j}"): paired_share(hits[i], hits[j]) for i, j in combinations(range(10), 2)}
        n_wrong += any(one.mark == "" for one in standings(summaries, gaps, "higher").values())
    assert n_wrong <= 8


@pytest.mark.parametrize("n_methods", [3, 40])
def test_however_many_methods_there_are_a_clear_difference_is_shown(n_methods):
    noise = np.random.default_rng(0).normal(size=(100, n_methods)) / 10
    values = {f"m{index}": column + 5 * (index == 0) for index, column in enumerate(noise.T)}
    assert [name for name, mark in marks(values).items() if mark] == ["m0"]


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


TABLE_TABLE = Table(("name", "T-1"), tuple((Cell(text), Cell(text, bold=True)) for text in AWKWARD))


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
    rows = list(csv.reader(io.StringIO(TABLE_TABLE.csv())))
    assert rows == [list(TABLE_TABLE.head), *([text, text] for text in AWKWARD)]


def test_html_reads_back_and_holds_no_element_of_a_text():
    found = Cells(TABLE_TABLE.html())
    assert found.texts == [*TABLE_TABLE.head, *(text for text in AWKWARD for _ in range(2))]
    assert found.tags == {"table", "thead", "tbody", "tr", "th", "td", "b"}
    assert TABLE_TABLE.html().count("<b>") == len(AWKWARD)


def test_markdown_has_one_cell_for_each():
    lines = TABLE_TABLE.markdown().splitlines()
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
    written = replace(TABLE_TABLE, caption=caption).latex()
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
    table = replace(TABLE_TABLE, caption="<b> | *x* ")
    assert table.markdown().startswith("\\<b\\> \\| \\*x\\*\n\n| name |")
    assert "<caption>&lt;b&gt; | *x* </caption>" in table.html()
    assert table.csv() == TABLE_TABLE.csv()


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


def test_means_that_differ_by_rounding_share_the_first_place():
    summaries = {name: summary_of_share(np.arange(20) < n) for name, n in (("a", 9), ("b", 9), ("c", 2))}
    summaries["b"] = replace(summaries["b"], mean=summaries["b"].mean * (1 + 1e-15))
    marks = {name: one.mark for name, one in standings(summaries, {}, "higher").items()}
    assert (marks["a"], marks["b"]) == ("best", "best")
    assert marks["c"] != "best"
    del summaries["c"]
    assert {one.mark for one in standings(summaries, {}, "higher").values()} == {""}
