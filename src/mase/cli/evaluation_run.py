"""The run of `mase evaluate`: draw texts from a table, evaluate each one, report and count failures."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

from mase.cli.group import complain, tell
from mase.cli.inputs import ColumnOptions
from mase.cli.streams import aside
from mase.datasets.labelled import LabelledText, class_index, read_labelled, spellings
from mase.document import Document
from mase.errors import CapabilityError, DataError, MaseError, MissingDependencyError, UnknownNameError
from mase.metrics.alignment import check_model
from mase.metrics.attributions import GivenAttributions, read_attributions
from mase.metrics.evaluation import Evaluation, collect
from mase.metrics.evaluator import EvaluatedText, Evaluator, OnError
from mase.models.examples import show_example
from mase.render.numbers import counted
from mase.render.progress import Progress

__all__ = ["EvaluationRun", "Source", "run_evaluation"]

# Errors about the model or the machine rather than a text: if the first text fails with one, all would.
_OF_THE_MODEL = (CapabilityError, MissingDependencyError)


@dataclass(frozen=True, slots=True)
class Source:
    """The texts of a command with their labels, and the given attributions."""

    path: str
    sha256: str | None
    rows: tuple[LabelledText, ...]
    renamed: Mapping[str, str]
    given: Mapping[str, GivenAttributions]

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
            documents = (Document(attribution.document) for attribution in first.by_text.values())
            rows = tuple(LabelledText(number, document, None) for number, document in enumerate(documents, 1))
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
        return cls(path, table.sha256, table.rows, renamed, given)

    @property
    def n_readable(self) -> int:
        """The number of rows that have a text."""
        return sum(row.error is None for row in self.rows)

    def drawn(self, seed: int) -> list[LabelledText]:
        """Return all rows in an order that depends on the seed alone, so that a larger sample extends a smaller one."""
        return [self.rows[index] for index in np.random.default_rng(seed).permutation(len(self.rows))]

    def target(self, row: LabelledText, classes: tuple[str, ...]) -> int | None:
        """Return the index of the true class of a row, or None if it has no label."""
        if row.label is None:
            return None
        renamed = (self.renamed[label] for label in spellings(row.label) if label in self.renamed)
        return class_index(next(renamed, row.label), classes)

    def check(self, evaluator: Evaluator) -> None:
        """Check for errors that concern every text, before any work is done."""
        evaluator.check_names(self.given)
        show_example(evaluator.model, next((row.text for row in self.rows if row.error is None), None))
        for file in self.given.values():
            for attribution in file.by_text.values():
                check_model(attribution, evaluator.model)
        labels = {row.label: row for row in self.rows if row.label is not None}
        unknown = []
        for row in labels.values():
            try:
                self.target(row, evaluator.model.labels)
            except UnknownNameError as error:
                unknown.append(error)
        if labels and len(unknown) == len(labels):
            raise UnknownNameError(
                f"{unknown[0]}; no label of {self.path!r} is a class of the model, rename them with --label LABEL=CLASS"
            )

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
        return {
            "data": {"path": source.path, "sha256": source.sha256, "n_rows": len(source.rows)},
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
    with aside(), Progress(min(n_texts, len(source.rows)), "evaluating", "evaluated") as progress:
        try:
            for row in source.drawn(evaluator.seed):
                if len(tally.judged) == n_texts:
                    break
                _take(evaluator, source, row, tally, progress, only_correct=only_correct)
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
    evaluator: Evaluator, source: Source, row: LabelledText, tally: _Tally, progress: Progress, *, only_correct: bool
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
        target = source.target(row, evaluator.model.labels)
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
