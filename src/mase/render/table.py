"""A table of strings that can be written as Markdown, CSV, LaTeX or HTML."""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from io import StringIO

__all__ = ["FORMATS", "Cell", "Table", "html_page"]


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
