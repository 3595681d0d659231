"""Tables of results with the best marked, as text, Markdown, CSV, LaTeX and HTML."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from math import comb, inf, isnan
from typing import Literal

import numpy as np

from mase.metrics.base import Better
from mase.render.figure import Dot, DotPanel
from mase.statistics import LEVEL, Difference, Summary, holm

# "tied": not the best mean, but not shown to be worse either.
Mark = Literal["best", "tied", ""]

# Means that differ by less than this share of themselves are equal but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """One method in one column.

    Attributes
    ----------
    summary
        Mean and interval; None without any value.
    mark
        "best", "tied" if the test does not show it to be worse than the best, or "".
    p_value
        Of the paired test against the best, adjusted for all pairs of methods in the column; None if there is none.
    """

    summary: Summary | None
    mark: Mark = ""
    p_value: float | None = None


def standings(
    summaries: Mapping[str, Summary | None],
    differences: Mapping[tuple[str, str], Difference | None],
    better: Better,
    n_explained: Mapping[str, int] | None = None,
) -> dict[str, Standing]:
    """Return the standing of each method in a column.

    The best has the best mean of the methods that explained the most texts, so that no method is the best because it
    failed on the hard ones. A method is worse if its paired difference to the best says so and the p-value of that is
    at most 0.05, adjusted by Holm's procedure for all pairs of methods. All pairs count, not only those with the best,
    because the best was found by looking at all. Nothing is marked with fewer than two methods, where all means are
    equal, or where there are so few texts that no difference could pass the test.

    Parameters
    ----------
    summaries
        Mean of each method; None without any value.
    differences
        Paired difference for each pair of methods in either order; None without a common text.
    better
        Which direction is better.
    n_explained
        How many texts each method explained; by default those for which it has a value. A metric may be undefined for
        some.
    """
    known = {method: summary for method, summary in summaries.items() if summary is not None}
    means = [summary.mean for summary in known.values()]
    n_texts = max((summary.n for summary in known.values()), default=0)
    if not means or np.ptp(means) <= _ROUNDING * np.abs(means).max() or not can_differ(n_texts, len(known)):
        return {method: Standing(summary) for method, summary in summaries.items()}
    sign = 1 if better == "higher" else -1
    explained = {method: summary.n if n_explained is None else n_explained[method] for method, summary in known.items()}
    most = max(explained.values())
    whole = {method: sign * summary.mean for method, summary in known.items() if explained[method] == most}
    best = max(whole, key=lambda method: whole[method])
    rounding = _ROUNDING * abs(whole[best])
    against = _against(best, differences, sign)
    result = {}
    for method, summary in summaries.items():
        behind, p_value = against.get(method, (0.0, None))
        is_worse = p_value is not None and behind > 0 and p_value <= 1 - LEVEL
        mark: Mark = "" if summary is None or is_worse else "tied"
        is_best = whole.get(method, -inf) >= whole[best] - rounding
        result[method] = Standing(summary, "best" if is_best else mark, p_value)
    return result


def can_differ(n_texts: int, n_methods: int) -> bool:
    """Return whether so many texts could show any difference between methods.

    Of n texts that all differ in one direction, a paired test has the p-value 2 / 2^n, and Holm's procedure multiplies
    the least one by the number of pairs.
    """
    return 2.0 ** (1 - n_texts) * comb(n_methods, 2) <= 1 - LEVEL


def _against(
    best: str, differences: Mapping[tuple[str, str], Difference | None], sign: int
) -> dict[str, tuple[float, float]]:
    """Return by how much each other method is behind the best on their common texts, and the adjusted p-value."""
    known = {pair: difference for pair, difference in differences.items() if difference is not None}
    adjusted = holm(np.array([difference.p_value for difference in known.values()]))
    return {
        second if first == best else first: (sign * difference.mean * (1 if first == best else -1), p)
        for ((first, second), difference), p in zip(known.items(), adjusted.tolist(), strict=True)
        if best in (first, second)
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """A string in a table; bold for the best value of a column."""

    text: str
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A heading of c strings, and rows of c cells each, with a caption or "".

    The first column is left-aligned, the others are right-aligned. CSV has neither caption nor bold.

    Examples
    --------
    >>> table = Table(("method", "T-1"), ((Cell("mase"), Cell("0.9", bold=True)), (Cell("a|b"), Cell("0.1"))))
    >>> print(table.markdown(), end="")
    | method | T-1 |
    |---|---:|
    | mase | **0.9** |
    | a\\|b | 0.1 |
    >>> print(table.csv(), end="")
    method,T-1
    mase,0.9
    a|b,0.1
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""

    def markdown(self) -> str:
        """Return the table as Markdown, after its caption."""
        rule = "|".join(["---", *["---:"] * (len(self.head) - 1)])
        lines = [" | ".join(cells) for cells in self._written(_markdown, "**{}**")]
        caption = [_markdown(self.caption), ""] if self.caption else []
        return "\n".join([*caption, f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])]) + "\n"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        file = StringIO()
        csv.writer(file, lineterminator="\n").writerows(
            [self.head, *((cell.text for cell in row) for row in self.rows)]
        )
        return file.getvalue()

    def latex(self) -> str:
        """Return the table as a LaTeX tabular with the rules of booktabs, in a float if it has a caption."""
        head, *rows = (_latex_row(cells) for cells in self._written(_latex, r"\textbf{{{}}}"))
        columns = "l" + "r" * (len(self.head) - 1)
        lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule"]
        lines += [r"\end{tabular}"]
        if self.caption:
            top = [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_latex(self.caption)}}}",
                rf"\label{{tab:{self._slug}}}",
            ]
            lines = [*top, *lines, r"\end{table}"]
        return "\n".join(lines) + "\n"

    @property
    def _slug(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.head[0].lower()).strip("-") or "results"

    def html(self) -> str:
        """Return the table as HTML."""
        head, *rows = self._written(escape, "<b>{}</b>")
        lines = [f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows]
        heading = "".join(f"<th>{cell}</th>" for cell in head)
        caption = [f"<caption>{escape(self.caption)}</caption>"] if self.caption else []
        lines = [*caption, f"<thead><tr>{heading}</tr></thead>", "<tbody>", *lines, "</tbody>"]
        return "\n".join(["<table>", *lines, "</table>"]) + "\n"

    def _written(self, quote: Callable[[str], str], bold: str) -> list[list[str]]:
        """Return the heading and the rows with every string escaped, and bold strings marked."""
        rows = [[bold.format(quote(cell.text)) if cell.bold else quote(cell.text) for cell in row] for row in self.rows]
        return [[quote(name) for name in self.head], *rows]


def html_page(title: str, body: str) -> str:
    """Return a page with a body of HTML, which browsers read as UTF-8 also from a file."""
    head = f'<meta charset="utf-8">\n<title>{escape(title)}</title>'
    return f'<!doctype html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}</body>\n</html>\n'


# How a table is written, by the suffix of the file.
FORMATS: dict[str, Callable[[Table], str]] = {
    ".md": Table.markdown,
    ".csv": Table.csv,
    ".tex": Table.latex,
    ".html": Table.html,
}

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": r"\textasciigrave{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$",
    "≈": r"$\approx$", "−": "$-$",
}  # fmt: skip


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def _latex(text: str) -> str:
    signed = re.sub(r"(?<![\w.])-(?=\d)", "−", " ".join(text.split()))
    return "".join(_LATEX.get(character, character) for character in signed)


def _latex_row(cells: list[str]) -> str:
    r"""Return a row. Braces keep a bracket or an asterisk at its start from being an argument of `\\` before."""
    row = " & ".join(cells)
    return ("{}" if row[:1] in ("[", "*") else "") + row + r" \\"


# The columns of `long_table`.
_LONG = (
    "table", "where", "column", "better", "method",
    "n_texts", "mean", "low", "high", "sd_over_batches", "mark", "p_value",
)  # fmt: skip

_MCNEMAR, _PERMUTATION = "McNemar's exact test", "a paired permutation test"
_MARKS = {"best": "best", "tied": "not worse", "": ""}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column: its name, which direction is better, whether it is a share of texts, and its standings by method."""

    name: str
    better: Better
    share: bool
    standings: Mapping[str, Standing]

    @property
    def title(self) -> str:
        """The name with an arrow towards the better values."""
        return f"{self.name} ({'↑' if self.better == 'higher' else '↓'})"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Means of some methods in some columns.

    Attributes
    ----------
    name
        What was measured, for example the metric.
    columns
        The columns. All have the same methods.
    n_texts
        Number of texts by method: those that it could explain.
    where
        On what it was measured, for example the model; or "".
    """

    name: str
    columns: tuple[ResultColumn, ...]
    n_texts: Mapping[str, int]
    where: str = ""

    @property
    def caption(self) -> str:
        """What the table shows: the texts, the intervals, the marks and the test behind them."""
        where = f" ({self.where})" if self.where else ""
        sentences = [f"{self.name}{where}: means over {max(self.n_texts.values()):,} texts with 95 % intervals."]
        if any(standing.mark for column in self.columns for standing in column.standings.values()):
            sentences += [
                "Bold: the best mean of a column.",
                f"≈: not shown to be worse at the 5 % level by {self._test()}, with Holm's correction for all pairs of "
                "methods in the column.",
            ]
        elif len(self.n_texts) > 1 and not can_differ(max(self.n_texts.values()), len(self.n_texts)):
            sentences.append(f"So few texts cannot show a difference between {len(self.n_texts)} methods.")
        return " ".join(sentences)

    def table(self) -> Table:
        """Return the table for people: the best means in bold, and ≈ after those that are not shown to be worse."""
        most = max(self.n_texts.values())
        rows = []
        for method, n in self.n_texts.items():
            name = method if n == most else f"{method} ({n:,} of {most:,} texts)"
            rows.append((Cell(name), *(_cell(column.standings[method], n) for column in self.columns)))
        return Table((self.name, *(column.title for column in self.columns)), tuple(rows), self.caption)

    def panels(self) -> tuple[DotPanel, ...]:
        """Return a panel for each column; a method without a value has an empty line."""
        return tuple(
            DotPanel(self.name, column.title, tuple(_dots(column.standings, self.n_texts))) for column in self.columns
        )

    def numbers(self) -> Iterator[tuple[str, ...]]:
        """Yield the row of `long_table` of each method in each column, with all digits."""
        for column in self.columns:
            for method, standing in column.standings.items():
                row = standing.summary
                cells = [""] * 5 if row is None else [str(row.n), *map(_digits, (row.mean, row.low, row.high, row.sd))]
                mark = _MARKS[standing.mark]
                yield self.name, self.where, column.name, column.better, method, *cells, mark, _digits(standing.p_value)

    def _test(self) -> str:
        shares = {column.share for column in self.columns}
        if len(shares) == 2:
            return f"{_MCNEMAR} (shares) or {_PERMUTATION}"
        return _MCNEMAR if shares == {True} else _PERMUTATION


def long_table(tables: Iterable[ResultTable], more: Iterable[Sequence[str]] = ()) -> Table:
    """Return tables as one, with a row for each method in each column and the numbers in cells of their own.

    Parameters
    ----------
    tables
        The tables.
    more
        Further rows: table, column, method and value.
    """
    rows = [row for table in tables for row in table.numbers()]
    rows += [(table, "", column, "", method, "", value, "", "", "", "", "") for table, column, method, value in more]
    return Table(_LONG, tuple(tuple(map(Cell, row)) for row in rows))


def _cell(standing: Standing, n_texts: int) -> Cell:
    """Return a mean with its interval, its number of texts if that is smaller than `n_texts`, and its mark."""
    if standing.summary is None:
        return Cell("-")
    sign = " ≈" if standing.mark == "tied" else ""
    return Cell(_shown(standing.summary, n_texts) + sign, bold=standing.mark == "best")


def _shown(summary: Summary, n_texts: int) -> str:
    count = "" if summary.n == n_texts else f" ({summary.n:,})"
    spread = "" if summary.sd is None else f" ±{_short(summary.sd)}"
    # The only space is before the interval, so that a narrow table breaks the line there.
    interval = "" if isnan(summary.low) else f" [{_short(summary.low)},{_short(summary.high)}]"
    return f"{_short(summary.mean)}{spread}{interval}{count}"


def _short(value: float) -> str:
    """Return three decimals, or three significant digits of a small number."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.01 else f"{value:.2g}"


def _digits(value: float | None) -> str:
    """Return a number from which the same number is read; "" for a missing one."""
    return "" if value is None or isnan(value) else repr(float(value))


def _dots(standings: Mapping[str, Standing], methods: Iterable[str]) -> Iterator[Dot]:
    """Yield the means of methods, without marks where the column has none: then nothing was compared."""
    marked = any(standing.mark for standing in standings.values())
    for method in methods:
        mean, mark = standings[method].summary, standings[method].mark
        numbers = (float("nan"),) * 3 if mean is None else (mean.mean, mean.low, mean.high)
        yield Dot(method, *numbers, mark if marked else None)
