"""What `mase evaluate` does, and the tables that it writes."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from math import isnan
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table as Grid
from rich.text import Text

from mase.cli import aside, complain, tell
from mase.cli.explaining import open_console
from mase.cli.files import Claim
from mase.cli.inputs import ColumnOptions
from mase.errors import CapabilityError, DataError, MaseError, MissingDependencyError, UnknownNameError
from mase.files import cannot_write
from mase.metrics.evaluation import EvaluatedText, Evaluation, Evaluator, OnError, collect
from mase.metrics.given import GivenAttributions, check_model, read_attributions
from mase.metrics.tables import (
    FORMATS,
    Cell,
    ResultColumn,
    ResultTable,
    Table,
    can_differ,
    html_page,
    long_table,
    standings,
)
from mase.models.scores import show_example
from mase.progress import ProgressBar
from mase.registry import unknown
from mase.render.figure import dot_plot, picture
from mase.render.marks import inline
from mase.render.wording import counted, percent_of_all
from mase.sources.labelled import LabelledText, class_indices, read_labelled, spellings
from mase.statistics import Difference, Summary

# Errors about the model or the machine rather than a text: if the first text fails with one, all would.
_OF_THE_MODEL = (CapabilityError, MissingDependencyError)


@dataclass(frozen=True, slots=True)
class Source:
    """The texts of a command with their labels and how they were read, and the given attributions."""

    path: str
    sha256: str | None
    rows: tuple[LabelledText, ...]
    renamed: Mapping[str, str]
    given: Mapping[str, GivenAttributions]
    columns: ColumnOptions = field(default_factory=ColumnOptions)
    chosen: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(
        cls,
        path: str | None,
        columns: ColumnOptions,
        label_column: str | None,
        where: Mapping[str, str],
        renamed: Mapping[str, str],
        attributions: Mapping[str, str],
        *,
        labels_needed: bool,
    ) -> "Source":
        """Return the texts of the table at `path`, or of the first file of attributions."""
        given = {name: read_attributions(file) for name, file in attributions.items()}
        if path is None:
            first = next(iter(given.values()))
            if not first.by_text or labels_needed:
                raise DataError(
                    f"{first.path!r} has no {'labels' if first.by_text else 'texts'}, expected --input FILE for them"
                )
            ordered = next((file for file in given.values() if not file.by_text), None)
            if ordered is not None:
                raise DataError(
                    f"{ordered.path!r} has no texts and follows the rows of a table, expected --input FILE for it"
                )
            rows = tuple(LabelledText(number, document, None) for number, document in enumerate(first.documents, 1))
            return cls(first.path, None, rows, renamed, given)
        table = read_labelled(
            path,
            **columns,
            label_column=label_column or "label",
            where=where,
            labels_optional=label_column is None and not labels_needed,
        )
        for file in given.values():
            file.check_rows([row.row for row in table.rows], all_rows=not where)
        chosen = {"label_column": label_column, "where": where, "label": renamed}
        return cls(path, table.sha256, table.rows, renamed, given, columns, chosen)

    @property
    def n_readable(self) -> int:
        """The number of rows that have a text."""
        return sum(row.error is None for row in self.rows)

    def drawn(self, seed: int) -> list[LabelledText]:
        """Return all rows in an order that depends on the seed alone, so that a larger sample extends a smaller one."""
        return [self.rows[index] for index in np.random.default_rng(seed).permutation(len(self.rows))]

    def targets(self, classes: tuple[str, ...]) -> dict[str, int]:
        """Return the index of the true class of each label, as the rows have it; a label that is no class is left out.

        Raises
        ------
        UnknownNameError
            If there are labels, and none is a class; or if a label was renamed to what is no class.
        """
        for named in self.renamed.values():
            _named_class(named, classes)
        labels = dict.fromkeys(row.label for row in self.rows if row.label is not None)
        renamed = {label: self._renamed(label) for label in labels}
        indices = class_indices([label for label in labels if renamed[label] is None], classes)
        for label, name in renamed.items():
            if name is not None:
                indices[label] = _named_class(name, classes)
        if labels and not indices:
            error = unknown("label", next(iter(labels)), list(classes))
            raise UnknownNameError(
                f"{error}; no label of {self.path!r} is a class of the model, rename them with --label LABEL=CLASS"
            )
        return indices

    def _renamed(self, label: str) -> str | None:
        """Return the class that the user named for a label; None for none."""
        return next((self.renamed[name] for name in spellings(label) if name in self.renamed), None)

    def check(self, evaluator: Evaluator) -> None:
        """Check for errors that concern every text, before any work is done."""
        evaluator.check_names(self.given)
        show_example(evaluator.model, next((row.text for row in self.rows if row.error is None), None))
        for file in self.given.values():
            for attribution in file.by_text.values():
                check_model(attribution, evaluator.model)

    def attributions(self, row: LabelledText, on_error: OnError) -> dict[str, Any]:
        """Return the given attributions of a row by name; call `on_error` for those that are missing."""
        attributions = {}
        for name, file in self.given.items():
            try:
                attributions[name] = file.of(row.text, row.row)
            except DataError as error:
                on_error(name, error)
        return attributions


@dataclass(slots=True)
class _Tally:
    """The results so far, and counts: missing results of one method, texts with a label, correct texts."""

    judged: list[EvaluatedText]
    rows: list[int]
    n_missing: int = 0
    n_labelled: int = 0
    n_correct: int = 0

    def conditions(self, source: Source, *, only_correct: bool) -> dict[str, Any]:
        """Return the provenance of the texts."""
        accuracy = self.n_correct / self.n_labelled if self.n_labelled else None
        read = {name: value for name, value in {**source.columns, **source.chosen}.items() if value}
        masked: dict[str, Any] = {name: read.pop(name) for name in ("fixed", "background") if name in read}
        return {
            "data": {"path": source.path, "sha256": source.sha256, "n_rows": len(source.rows), **read},
            **masked,
            "only_correct": only_correct,
            "accuracy": {"share": accuracy, "n": self.n_labelled},
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True)
class EvaluationRun:
    """The evaluation of a run, which is not complete if the run was interrupted."""

    evaluation: Evaluation
    is_complete: bool


@contextmanager
def run_evaluation(
    evaluator: Evaluator, source: Source, n_texts: int, *, only_correct: bool
) -> Iterator[EvaluationRun]:
    """Yield the evaluation of up to `n_texts` texts. Then exit with 1 if a text failed, or a method failed on a text.

    After an interruption, yield the evaluation of the texts so far, and raise the interruption after the block.
    """
    tally, interruption = _Tally([], []), None
    with aside():
        source.check(evaluator)
        targets = source.targets(evaluator.model.labels)
    with aside(), ProgressBar(min(n_texts, len(source.rows)), "evaluating", "evaluated") as progress:
        try:
            for row in source.drawn(evaluator.seed):
                if len(tally.judged) == n_texts:
                    break
                _take(evaluator, source, targets, row, tally, progress, only_correct=only_correct)
        except KeyboardInterrupt as error:
            interruption = error
    if not tally.judged:
        if interruption is not None:
            raise interruption
        raise DataError(
            f"no text of {source.path!r} could be evaluated" + (" and is classified correctly" if only_correct else "")
        )
    if interruption is not None:
        tell(f"interrupted: the results are those of {counted(len(tally.judged), 'text')}")
    evaluation = collect(evaluator, tally.judged, tally.conditions(source, only_correct=only_correct))
    yield EvaluationRun(evaluation, interruption is None)
    if interruption is not None:
        raise interruption
    if progress.n_failed or tally.n_missing:
        click.get_current_context().exit(1)


def _take(
    evaluator: Evaluator,
    source: Source,
    targets: Mapping[str, int],
    row: LabelledText,
    tally: _Tally,
    progress: ProgressBar,
    *,
    only_correct: bool,
) -> None:
    """Evaluate one row, unless it is left out. An error affects only this row, or one method on it."""

    def failed(name: str, error: MaseError) -> None:
        if isinstance(error, _OF_THE_MODEL) and not tally.judged:
            raise error
        with progress.paused():
            complain(f"row {row.row}, {name}: {error}")

    try:
        if row.error is not None:
            raise row.error
        target = _target(row, targets, evaluator.model.labels)
        unscored = evaluator.unscored(row.text)
        correct = target is not None and target == unscored.masker.prediction
        tally.n_labelled += target is not None
        tally.n_correct += correct
        if only_correct and not correct:
            return
        judged = evaluator.evaluated(unscored, source.attributions(row, failed), on_error=failed)
    except MaseError as error:
        if isinstance(error, _OF_THE_MODEL) and not tally.judged:
            raise
        with progress.paused():
            complain(f"row {row.row}: {error}")
        progress.step(failed=True)
        return
    by_method = {name: judged.by_method.get(name) for name in (*evaluator.explainers, *source.given)}
    known = sum(result is not None for result in by_method.values())
    progress.step(failed=not known)
    if known:
        tally.n_missing += len(by_method) - known
        tally.judged.append(replace(judged, by_method=by_method))
        tally.rows.append(row.row)


def _named_class(name: str, classes: Sequence[str]) -> int:
    """Return the index of the class that an option names."""
    indices = class_indices([name], classes)
    if not indices:
        raise unknown("label", name, list(classes))
    return indices[name]


def _target(row: LabelledText, targets: Mapping[str, int], classes: Sequence[str]) -> int | None:
    """Return the index of the true class of a row, or None if it has no label."""
    if row.label is None:
        return None
    if row.label not in targets:
        raise unknown("label", row.label, list(classes))
    return targets[row.label]


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
            n_explained = {method: evaluation.n_evaluated(method) for method in evaluation.methods}
            result = standings(summaries, differences, column.better, n_explained)
            yield ResultColumn(column.name, column.better, column.share, result)


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
