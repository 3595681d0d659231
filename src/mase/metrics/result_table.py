"""Tables of results: methods in rows, with marks for the best of each column, and the same as rows of numbers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from mase.metrics.intervals import Summary
from mase.metrics.protocol import Better
from mase.metrics.standings import Standing, can_differ
from mase.render.dot_plot import Dot, DotPanel
from mase.render.table import Cell, Table

__all__ = ["ResultColumn", "ResultTable", "long_table"]

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
            DotPanel(self.name, column.title, tuple(_dot(method, column.standings[method]) for method in self.n_texts))
            for column in self.columns
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


def _dot(method: str, standing: Standing) -> Dot:
    mean = standing.summary
    if mean is None:
        return Dot(method, float("nan"), float("nan"), float("nan"))
    return Dot(method, mean.mean, mean.low, mean.high, standing.mark)
