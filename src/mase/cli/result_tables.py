"""What `mase evaluate` shows and writes: for each metric a table of means, the best marked, and a picture."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isnan
from pathlib import Path

import click
from rich.table import Table as Grid
from rich.text import Text

from mase.cli.evaluation_run import EvaluationRun
from mase.cli.explanation_run import open_console
from mase.cli.group import complain, tell
from mase.cli.output_files import Claim
from mase.errors import DataError
from mase.files import cannot_write
from mase.metrics.evaluation import Evaluation
from mase.metrics.intervals import Difference, Summary
from mase.metrics.result_table import ResultColumn, ResultTable, long_table
from mase.metrics.standings import can_differ, standings
from mase.render.dot_plot import dot_plot
from mase.render.numbers import counted, percent_of_all
from mase.render.pictures import picture
from mase.render.pieces import inline
from mase.render.table import FORMATS, Cell, Table, html_page

__all__ = ["Claims", "show"]

_WIDEST = 10_000  # a file or a pipe has no fixed width
_GAP = 2  # between columns


@dataclass(frozen=True, slots=True)
class Claims:
    """The files of a command that it has claimed: JSON and picture, None if not asked for, and tables."""

    data: Claim | None = None
    plot: Claim | None = None
    tables: tuple[Claim, ...] = ()


def show(run: EvaluationRun, n_batches: int, claims: Claims, *, as_json: bool) -> None:
    """Write the evaluation, its tables and its picture to the claimed files, and print it as JSON or as tables.

    A file that cannot be written is reported on standard error, and the exit code is 1. The rest is written and
    printed.
    """
    evaluation = run.evaluation
    batches = _batches(len(evaluation), n_batches)
    line = json.dumps(evaluation.to_dict(batches), ensure_ascii=True, allow_nan=False)
    results = _results(evaluation, batches)
    shown = [*(result.table() for result in results), *_further(evaluation)]
    failed = _write(run, claims, line, results, shown)
    for error in failed:
        complain(str(error))
    if as_json:
        click.echo(line)
    else:
        _print(evaluation, shown)
    if failed:
        click.get_current_context().exit(1)


def _write(
    run: EvaluationRun, claims: Claims, line: str, results: Sequence[ResultTable], shown: Sequence[Table]
) -> list[DataError]:
    """Write all files that can be written, and return the errors of the others: the rest is not to be lost."""
    title = f"Evaluation of {inline(str(run.evaluation.provenance['model']['name']))}"
    written: list[tuple[Claim, Callable[[], str | bytes]]] = []
    if claims.data is not None:
        written.append((claims.data, lambda: line + "\n"))
    written += [(claim, partial(_written, claim, results, shown, title)) for claim in claims.tables]
    if claims.plot is not None:
        written.append((claims.plot, partial(_drawn, results, _suffix(claims.plot))))
    failed = []
    for claim, content in written:
        try:
            claim.write(content(), complete=run.is_complete)
        except BrokenPipeError as error:  # the reader of a pipe has left
            failed.append(cannot_write(claim.output.name, error))
        except DataError as error:
            failed.append(error)
    return failed


def _suffix(claim: Claim) -> str:
    """Return the suffix of the name that was given; the file that a link names may have another one."""
    return Path(claim.output.name).suffix.lower()


def _drawn(results: Sequence[ResultTable], suffix: str) -> bytes:
    return picture(dot_plot([panel for result in results for panel in result.panels()]), suffix)


def _print(evaluation: Evaluation, shown: Sequence[Table]) -> None:
    console = open_console()
    if not console.is_terminal:
        console.width = _WIDEST
    console.print(Text("\n".join(_facts(evaluation)), style="dim"))
    for table in shown:
        for grid in _printed(table, console.width):
            console.print()
            console.print(grid)
    console.file.flush()


def _written(claim: Claim, results: Sequence[ResultTable], shown: Sequence[Table], title: str) -> str:
    """Return the tables in the format of the file: one table of numbers for CSV, else one after the other."""
    convert = FORMATS[_suffix(claim)]
    if convert is not Table.csv:
        written = "\n".join(map(convert, shown))
        return html_page(title, written) if convert is Table.html else written
    more = [
        (table.head[0], column, row[0].text, "" if cell.text == "-" else cell.text.replace(",", ""))
        for table in shown[len(results) :]
        for row in table.rows
        for column, cell in zip(table.head[1:], row[1:], strict=True)
    ]
    return long_table(results, more).csv()


def _batches(n: int, n_batches: int) -> list[range] | None:
    """Return the indices of consecutive batches of nearly equal size, or None for a single batch or too few texts."""
    if n < n_batches:
        tell(f"no standard deviation over batches: {counted(n, 'text')} evaluated, {n_batches} batches asked for")
    if n_batches < 2 or n < n_batches:
        return None
    edges = [index * n // n_batches for index in range(n_batches + 1)]
    return [range(first, last) for first, last in pairwise(edges)]


def _results(evaluation: Evaluation, batches: Sequence[range] | None) -> list[ResultTable]:
    """Return a table for each metric with its headline columns."""
    by_method, by_pair = evaluation.every_summary(batches), evaluation.every_difference()
    n_texts = {method: evaluation.n_evaluated(method) for method in evaluation.methods}
    where = f"{evaluation.provenance['model']['name']}, operator {evaluation.provenance['operator']}"
    tables = []
    for metric in dict.fromkeys(name for name, _ in evaluation.columns):
        columns = tuple(_columns(evaluation, metric, by_method, by_pair))
        tables.append(ResultTable(metric, columns, n_texts, where))
    return tables


def _columns(
    evaluation: Evaluation,
    metric: str,
    by_method: Mapping[str, Sequence[Summary | None]],
    by_pair: Mapping[tuple[str, str], Sequence[Difference | None]],
) -> Iterator[ResultColumn]:
    for index, (name, column) in enumerate(evaluation.columns):
        if name == metric and column.headline:
            summaries = {method: row[index] for method, row in by_method.items()}
            differences = {pair: row[index] for pair, row in by_pair.items()}
            found = standings(summaries, differences, column.better)
            yield ResultColumn(column.name, column.better, column.share, found)


def _further(evaluation: Evaluation) -> list[Table]:
    """Return a table of costs, and for several methods a table of their agreement."""
    return [_costs(evaluation), *([_agreement(evaluation)] if len(evaluation.methods) > 1 else [])]


def _facts(evaluation: Evaluation) -> Iterator[str]:
    provenance = evaluation.provenance
    accuracy = provenance.get("accuracy", {}).get("share")
    facts = [
        counted(len(evaluation), "text"),
        inline(str(provenance["model"]["name"])),
        f"operator {provenance['operator']}",
    ]
    facts += (
        []
        if accuracy is None
        else [f"{percent_of_all(accuracy)} of {provenance['accuracy']['n']:,} classified correctly"]
    )
    yield ", ".join([*facts, "means with 95 % intervals"])
    n_methods = len(evaluation.methods)
    if n_methods > 1 and not can_differ(len(evaluation), n_methods):
        yield f"{counted(len(evaluation), 'text')} cannot show a difference between {n_methods} methods"
    elif n_methods > 1:
        yield "* the best of a column, ≈ not shown to be worse (paired tests at the 5 % level, Holm's correction)"


def _costs(evaluation: Evaluation) -> Table:
    rows = []
    for method in evaluation.methods:
        cost = evaluation.cost(method)
        cells = (f"{cost['n_queries']:,.0f}", f"{cost['n_gradients']:,.0f}", f"{cost['seconds']:.2g}")
        rows.append(_row(method, cells if cost["seconds"] > 0 else ("-",) * len(cells)))  # NaN, and scores of others
    return Table(("cost per text", "evaluations", "gradients", "seconds"), tuple(rows))


def _agreement(evaluation: Evaluation) -> Table:
    matrix = zip(evaluation.methods, evaluation.agreement().tolist(), strict=True)
    rows = (_row(method, ("-" if isnan(value) else f"{value:.2f}" for value in row)) for method, row in matrix)
    return Table(("agreement (Spearman)", *evaluation.methods), tuple(rows))


def _row(name: str, others: Iterator[str] | Sequence[str]) -> tuple[Cell, ...]:
    return (Cell(name), *map(Cell, others))


def _printed(table: Table, width: int) -> Iterator[Grid]:
    """Yield grids that are at most `width` cells wide, each with the names of the rows.

    Columns that do not fit beside each other come below each other, because a number that is cut off is another number.
    """
    rows = [[_text(cell) for cell in row] for row in table.rows]
    head = [Text(inline(name), "bold") for name in table.head]
    needed = [max(text.cell_len for text in column) + _GAP for column in zip(head, *rows, strict=True)]
    for columns in _beside(needed, width + _GAP):
        grid = Grid(box=None, padding=(0, _GAP, 0, 0), pad_edge=False)
        grid.add_column(head[0], overflow="fold")
        for column in columns:
            grid.add_column(head[column], justify="right", no_wrap=True)
        for row in rows:
            grid.add_row(row[0], *(row[column] for column in columns))
        yield grid


def _text(cell: Cell) -> Text:
    """Return a cell for the terminal. The best have an asterisk, too, because a pipe shows nothing in bold."""
    return Text(inline(f"{cell.text} *" if cell.bold else cell.text), "bold" * cell.bold)


def _beside(needed: Sequence[int], width: int) -> list[list[int]]:
    """Return the numbers of the columns after the first one, in groups that fit beside the first: at least one each."""
    groups: list[list[int]] = []
    room = 0
    for column in range(1, len(needed)):
        if not groups or needed[column] > room:
            groups.append([])
            room = width - needed[0]
        groups[-1].append(column)
        room -= needed[column]
    return groups
