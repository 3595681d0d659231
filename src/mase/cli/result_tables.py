"""Tables of `mase evaluate`: for each metric the means with intervals, one row per method."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import isnan

import click
from rich.table import Table as Grid
from rich.text import Text

from mase.cli.evaluation_run import EvaluationRun
from mase.cli.explanation_run import open_console
from mase.cli.output_files import Claim
from mase.metrics.evaluation import Evaluation
from mase.metrics.intervals import Summary
from mase.metrics.protocol import Column
from mase.render.pieces import inline
from mase.render.table import FORMATS, Cell, Table

__all__ = ["show"]

_WIDEST = 10_000  # a file or a pipe has no fixed width


def show(
    run: EvaluationRun, n_batches: int, *, as_json: bool, claim: Claim | None, tables: Claim | None = None
) -> None:
    """Write the evaluation and its tables to the claimed files, if any, and print it as JSON or as tables.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    evaluation = run.evaluation
    batches = _batches(len(evaluation), n_batches)
    line = json.dumps(evaluation.to_dict(batches), ensure_ascii=True, allow_nan=False)
    if claim is not None:
        claim.write(line + "\n", complete=run.is_complete)
    shown = _tables(evaluation, batches)
    if tables is not None:
        convert = FORMATS[tables.output.path.suffix.lower()]
        tables.write("\n".join(convert(table) for table in shown), complete=run.is_complete)
    if as_json:
        click.echo(line)
        return
    console = open_console()
    if not console.is_terminal:
        console.width = _WIDEST
    console.print(Text(_facts(evaluation), style="dim"))
    for table in shown:
        console.print()
        console.print(_printed(table))
    console.file.flush()


def _batches(n: int, n_batches: int) -> list[range] | None:
    """Return the indices of consecutive batches of nearly equal size, or None for a single batch."""
    if n_batches < 2 or n < n_batches:
        return None
    edges = [index * n // n_batches for index in range(n_batches + 1)]
    return [range(first, last) for first, last in pairwise(edges)]


def _tables(evaluation: Evaluation, batches: Sequence[range] | None) -> list[Table]:
    """Return a table for each metric, a table of costs, and for several methods a table of their agreement."""
    by_method = evaluation.every_summary(batches)
    metrics = dict.fromkeys(name for name, _ in evaluation.columns)
    tables = [*(_numbers(evaluation, metric, by_method) for metric in metrics), _costs(evaluation)]
    return [*tables, _agreement(evaluation)] if len(evaluation.methods) > 1 else tables


def _facts(evaluation: Evaluation) -> str:
    provenance = evaluation.provenance
    accuracy = provenance.get("accuracy", {}).get("share")
    facts = [
        f"{len(evaluation):,} texts",
        inline(str(provenance["model"]["name"])),
        f"operator {provenance['operator']}",
    ]
    facts += [] if accuracy is None else [f"{accuracy:.1%} of {provenance['accuracy']['n']:,} classified correctly"]
    return ", ".join([*facts, "means with 95 % intervals"])


def _numbers(evaluation: Evaluation, metric: str, by_method: Mapping[str, tuple[Summary | None, ...]]) -> Table:
    """Return the means of one metric, the best in bold, with intervals and standard deviations over batches."""
    shown = [
        (index, column) for index, (name, column) in enumerate(evaluation.columns) if name == metric and column.headline
    ]
    head = (metric, *(f"{column.name} ({'↑' if column.better == 'higher' else '↓'})" for _, column in shown))
    best = {index: _best([summaries[index] for summaries in by_method.values()], column) for index, column in shown}
    rows = []
    for method, summaries in by_method.items():
        row = [(summaries[index], best[index]) for index, _ in shown]
        n = evaluation.n_evaluated(method)
        cells = (Cell(_cell(mean, n), bold=mean is not None and mean.mean == top) for mean, top in row)
        rows.append((Cell(_named(evaluation, method)), *cells))
    return Table(head, tuple(rows))


def _named(evaluation: Evaluation, method: str) -> str:
    """Return the name of a method, with the number of its texts if it could not explain all of them."""
    n = evaluation.n_evaluated(method)
    return method + ("" if n == len(evaluation) else f" ({n:,} of {len(evaluation):,} texts)")


def _costs(evaluation: Evaluation) -> Table:
    rows = []
    for method in evaluation.methods:
        cost = evaluation.cost(method)
        cells = (f"{cost['n_queries']:,.0f}", f"{cost['n_gradients']:,.0f}", f"{cost['seconds']:.2g}")
        rows.append(_row(method, ("-",) * len(cells) if isnan(cost["seconds"]) else cells))
    return Table(("cost per text", "evaluations", "gradients", "seconds"), tuple(rows))


def _agreement(evaluation: Evaluation) -> Table:
    matrix = zip(evaluation.methods, evaluation.agreement().tolist(), strict=True)
    rows = (_row(method, ("-" if isnan(value) else f"{value:.2f}" for value in row)) for method, row in matrix)
    return Table(("agreement (Spearman)", *evaluation.methods), tuple(rows))


def _row(name: str, others: Iterable[str]) -> tuple[Cell, ...]:
    return (Cell(name), *map(Cell, others))


def _printed(table: Table) -> Grid:
    """Return a table for the terminal."""
    grid = Grid(box=None, header_style="bold", pad_edge=False)
    grid.add_column(inline(table.head[0]), no_wrap=True)
    for name in table.head[1:]:
        grid.add_column(Text(inline(name)), justify="right")
    for row in table.rows:
        grid.add_row(*(Text(inline(cell.text), "bold" if cell.bold else "") for cell in row))
    return grid


def _best(row: Sequence[Summary | None], column: Column) -> float | None:
    means = [summary.mean for summary in row if summary is not None]
    if len(means) < 2:
        return None
    return max(means) if column.better == "higher" else min(means)


def _cell(summary: Summary | None, n_evaluated: int) -> str:
    """Return a mean with its interval, and its number of texts if that is smaller than `n_evaluated`."""
    if summary is None:
        return "-"
    count = "" if summary.n == n_evaluated else f" ({summary.n:,})"
    spread = "" if summary.sd is None else f" ±{_digits(summary.sd)}"
    # The only space is before the interval, so that a narrow table breaks the line there.
    interval = "" if isnan(summary.low) else f" [{_digits(summary.low)},{_digits(summary.high)}]"
    return f"{_digits(summary.mean)}{spread}{interval}{count}"


def _digits(value: float) -> str:
    """Return three decimals, or three significant digits of a small number."""
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.01 else f"{value:.2g}"
