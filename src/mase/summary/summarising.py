"""Make the summary of a run."""

import os
from typing import Any

from mase.corpus.database import database
from mase.corpus.opened import Run, open_run
from mase.scalars import check_integer
from mase.summary.batches import batches
from mase.summary.counts import confusion, failures, notes, overview, predictions, quality
from mase.summary.effects import Example
from mase.summary.examples import examples
from mase.summary.lists import FALSE_DISCOVERY_RATE, Entry, group_list, phrase_list, push_list, word_list
from mase.summary.summary import Settings, Summary
from mase.summary.texts import check_columns, load
from mase.summary.totals import collect

__all__ = ["summarise"]


def summarise(
    run: Run | str | os.PathLike[str],
    *,
    label_column: str | None = None,
    group_column: str | None = None,
    min_texts: int = 20,
    top: int = 20,
) -> Summary:
    """Return what the explanations of a run say together.

    The finished parts of the run are read in batches, so that memory does not grow with the corpus.

    Parameters
    ----------
    run
        A run, or the path or URI of its folder.
    label_column
        The kept column of the true classes, for the words behind wrong predictions. A text whose label is no class of
        the model counts as one without a label.
    group_column
        A kept column, for the words whose effect differs between its values.
    min_texts
        Smallest number of texts of a word or phrase; rarer ones are not tested.
    top
        Longest list.

    Raises
    ------
    OptionError
        If `min_texts` is less than 2 or `top` less than 1, the run has no kept columns, or no label is a class.
    UnknownNameError
        If a column is not a kept column of the run.
    DataError
        If it is not a run, or a file of it cannot be read.
    MissingDependencyError
        If DuckDB or PyArrow is not installed.
    """
    min_texts, top = check_integer("min_texts", min_texts, 2), check_integer("top", top, 1)
    opened = open_run(run)
    check_columns(opened, label_column=label_column, group_column=group_column)
    with database() as tables:
        compared = load(tables, opened, label_column, group_column, min_texts)
        n_units = collect(tables, batches(opened), min_texts)
        lists = [
            word_list(tables, top),
            phrase_list(tables, top),
            push_list(tables, "wrong", 1, min_texts, top),
            push_list(tables, "low_confidence", -1, min_texts, top),
            group_list(tables, compared.groups, compared.n_sides, min_texts, top),
        ]
        entries = [entry for found, _ in lists for entry in found]
        rows = iter(_rows(entries, examples(tables, opened, [entry.sought for entry in entries])))
        words, phrases, wrong, low_confidence, groups = (tuple(next(rows) for _ in found) for found, _ in lists)
        counts = overview(tables, opened, n_units)
        return Summary(
            settings=Settings(
                label_column, group_column, min_texts, top, FALSE_DISCOVERY_RATE,
                compared.low_confidence, compared.groups, compared.n_groups_left_out,
            ),
            overview=counts,
            predictions=predictions(tables),
            quality=quality(tables),
            notes=notes(tables, counts.n_explained),
            failures=failures(tables),
            words=words,
            phrases=phrases,
            confusion=confusion(tables),
            wrong=wrong,
            low_confidence=low_confidence,
            groups=groups,
            families=tuple(family for _, family in lists),
            run=opened,
        )  # fmt: skip


def _rows(entries: list[Entry], found: list[tuple[Example, ...]]) -> list[Any]:
    return [entry.row(shown) for entry, shown in zip(entries, found, strict=True)]
