"""`mase.summarise`: what the explanations of a run say together."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pyarrow as pa

from mase.defaults import check_integer
from mase_corpora.database import Database, database
from mase_corpora.effects import Example, Family, GroupDifference, PhraseEffect, PushDifference, WordEffect, collect
from mase_corpora.lists import FALSE_DISCOVERY_RATE, Entry, examples, group_list, phrase_list, push_list, word_list
from mase_corpora.read import Run, frame, open_run
from mase_corpora.tables import batches, check_columns, load

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from mase_corpora.read import Run


@dataclass(frozen=True, slots=True)
class Overview:
    """What was explained, by which model and method, and at what cost.

    Attributes
    ----------
    model, method
        Their names in the manifest of the run.
    n_texts, n_explained, n_failed
        Texts in finished parts; texts with scores; texts that could not be explained.
    n_distinct
        Explained texts that differ from each other. A repeated text counts once in every table of words. Repetition
        is not found in a run without documents.
    n_units
        Scored units (words, or what the run was asked to score) of all explained texts, once per text.
    n_queries
        Evaluations of the model.
    accuracy
        Share of the explained texts with a label whose prediction is the label. None without a label column.
    n_labelled
        Explained texts whose label is a class of the model; 0 without a label column.
    against
        The class that the explained ones are compared with; None for no contrast.
    n_other_labels
        Explained texts whose label is no class of the model. They count as texts without a label, because no
        prediction of the model can be right for them.
    n_left
        Texts in the parts that are not finished, about which the summary says nothing; 0 for a finished run.
    reliable
        Share of the explanations (texts and responses) with the verdict *reliable*; None for a run of an earlier
        version.
    """

    model: str
    method: str
    n_texts: int
    n_explained: int
    n_failed: int
    n_distinct: int
    n_units: int
    n_queries: int
    accuracy: float | None = None
    n_labelled: int = 0
    against: str | None = None
    n_other_labels: int = 0
    n_left: int = 0
    reliable: float | None = None


@dataclass(frozen=True, slots=True)
class PredictedClass:
    """A predicted class: its number of explained texts, their share, and the mean probability of the class in them.

    `probability` is None for a model of values, of which `prediction` is the name of the first.
    """

    prediction: str
    n_texts: int
    share: float
    probability: float | None


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of a measure of quality over the n texts (for both R2: texts and responses) that have one.

    `name` is ``r2`` (share of the response's variance that the scores explain), ``r2_held_out`` (the same in rows that
    the fit left out), ``split_half`` (agreement of two halves of the sample on the strongest words) or ``probability``
    (of the predicted class).
    """

    name: str
    n: int
    mean: float
    minimum: float
    q10: float
    q25: float
    median: float
    q75: float
    q90: float
    maximum: float


@dataclass(frozen=True, slots=True)
class NoteCount:
    """A note: its code, one of its messages, and the number and share of the explained texts that have it."""

    code: str
    n_texts: int
    share: float
    message: str


@dataclass(frozen=True, slots=True)
class Failures:
    """The texts that failed with an error: the name of its type, their number, and id and message of the first."""

    error: str
    n_texts: int
    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Confusion:
    """The explained texts with a label and a prediction.

    `share` is relative to the texts with this label, and `probability` is the mean probability of the prediction.
    """

    label: str
    prediction: str
    n_texts: int
    share: float
    probability: float


@dataclass(frozen=True, slots=True)
class Settings:
    """What was asked of a summary.

    Attributes
    ----------
    label_column, group_column
        Names of kept columns, or None.
    min_texts
        Smallest number of texts of a word or phrase in a table.
    top
        Longest list: of words per response and direction, per prediction, or per response and group.
    false_discovery_rate
        The rate that is controlled in every table of words: at most this share of its rows is there by chance.
    low_confidence
        A prediction of a smaller probability has a low confidence: the lowest tenth. None if no probability is smaller.
    groups
        The values of the group column that were compared, the most frequent first.
    n_groups_left_out
        Values of the group column that were not compared: rare ones, and those after the 20 most frequent.
    """

    label_column: str | None
    group_column: str | None
    min_texts: int
    top: int
    false_discovery_rate: float
    low_confidence: float | None = None
    groups: tuple[str, ...] = ()
    n_groups_left_out: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """What the explanations of a run say together: about the model, and about how far they can be trusted.

    All words are in lower case and in the normal form NFC, so that "Film" and "film" are one word, and so is "é" as one
    character and as two. Common words are not left out. Punctuation is a word of its own where the run scored it as
    one.

    Rows of `words` are sorted by response, then "towards" before "away", then by the size of the effect; those of
    `phrases` by the size of the difference; those of `wrong`, `low_confidence` and `groups` by prediction (response and
    group), then by the size of the difference.
    """

    settings: Settings
    overview: Overview
    predictions: tuple[PredictedClass, ...]
    quality: tuple[Distribution, ...]
    notes: tuple[NoteCount, ...]
    failures: tuple[Failures, ...]
    words: tuple[WordEffect, ...]
    phrases: tuple[PhraseEffect, ...]
    confusion: tuple[Confusion, ...]
    wrong: tuple[PushDifference, ...]
    low_confidence: tuple[PushDifference, ...]
    groups: tuple[GroupDifference, ...]
    families: tuple[Family, ...]
    run: "Run" = field(hash=False, compare=False)

    def __repr__(self) -> str:
        lists = ("words", "phrases", "wrong", "low_confidence", "groups")
        result = ", ".join(f"{len(getattr(self, name)):,} {name}" for name in lists)
        return f"<Summary of {self.overview.n_explained:,} explained texts: {result}>"

    @property
    def tables(self) -> "Mapping[str, pa.Table]":
        """The tables as Arrow tables by name, such as ``"words"``, with a column for each field of their rows."""

        return {name: table(self, name) for name in ROWS}

    def to_html(self, folder: str | PathLike[str], *, texts: bool = True) -> Path:
        """Write a report for a browser to a folder, and return its page; see `mase_corpora.report.write_report`.

        Raises
        ------
        DataError
            If the folder has files that are not of a report, if it cannot be written, or if the run cannot be read.
        """
        from mase_corpora.report import write_report

        return write_report(self, folder, texts=texts)

    def to_frame(self, table: str) -> "pd.DataFrame":
        """Return a table as a pandas data frame, such as ``"words"``: one row per row, one column per field.

        Raises
        ------
        UnknownNameError
            If there is no such table.
        MissingDependencyError
            If pandas is not installed.
        """
        return frame(self.tables, table)


# The kind of the rows of each table.
ROWS: Mapping[str, Any] = MappingProxyType(
    {
        "overview": Overview,
        "predictions": PredictedClass,
        "quality": Distribution,
        "notes": NoteCount,
        "failures": Failures,
        "words": WordEffect,
        "phrases": PhraseEffect,
        "confusion": Confusion,
        "wrong": PushDifference,
        "low_confidence": PushDifference,
        "groups": GroupDifference,
        "families": Family,
    }
)

# Most examples of a row.
_EXAMPLES = 3
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: pa.DataType
    values: list[Any]


def table(summary: Summary, name: str) -> pa.Table:
    """Return a table of `ROWS` by its name, with a column of strings for each of the three examples."""
    result = getattr(summary, name)
    rows = [result] if name == "overview" else list(result)
    columns = [column for field in fields(ROWS[name]) for column in _columns(ROWS[name], field.name, rows)]
    return pa.table(
        [pa.array(column.values, column.type) for column in columns],
        schema=pa.schema([(column.name, column.type) for column in columns]),
    )


def _columns(kind: Any, name: str, rows: Sequence[Any]) -> list[_Column]:
    values = [getattr(row, name) for row in rows]
    if name == "examples":
        return [
            _Column(f"example_{index + 1}", pa.string(), [_shown(value, index) for value in values])
            for index in range(_EXAMPLES)
        ]
    hint = get_type_hints(kind)[name]
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return [_Column(name, _TYPES.get(hint, pa.string()), values)]


def _shown(examples: Sequence[Example], index: int) -> str | None:
    """Return an example in its context, with the word in square brackets; None if there are fewer."""
    if index >= len(examples):
        return None
    example = examples[index]
    before, after = "…" * example.cut_before + example.before, example.after + "…" * example.cut_after
    return f"{before}[{example.text}]{after}"


_OVERVIEW = """
SELECT count(*), count(*) FILTER (NOT failed), count(*) FILTER (failed), coalesce(sum(n_queries), 0)::BIGINT,
    avg((label = prediction)::INT) FILTER (NOT failed), count(label) FILTER (NOT failed),
    count(other_label) FILTER (NOT failed) FROM text
"""

_DISTINCT = "SELECT count(DISTINCT row) FROM explained WHERE is_first"

_PREDICTIONS = """
SELECT prediction, count(*) AS n, n / sum(n) OVER (), avg(probability) FROM text
WHERE NOT failed GROUP BY prediction ORDER BY n DESC, prediction
"""

_QUALITY = """
SELECT $name, count(value), avg(value), min(value), quantile_cont(value, 0.1), quantile_cont(value, 0.25),
    median(value), quantile_cont(value, 0.75), quantile_cont(value, 0.9), max(value)
FROM (SELECT {column} AS value FROM {table}) WHERE isfinite(value) HAVING count(value) > 0
"""

_MEASURES = {"r2": "response", "r2_held_out": "response", "split_half": "text", "probability": "text"}
_RELIABLE = "SELECT avg(reliable::INT) FROM response"

_NOTES = """
SELECT code, texts, texts / $explained, message
FROM (SELECT code, count(DISTINCT row) AS texts FROM note GROUP BY code)
JOIN (SELECT code, min(message) AS message FROM message GROUP BY code) USING (code) ORDER BY texts DESC, code
"""

_FAILURES = """
SELECT error, sum(n)::BIGINT AS texts, arg_min(id, row), arg_min(message, row) FROM failure
GROUP BY error ORDER BY texts DESC, error
"""

_CONFUSION = """
SELECT label, prediction, count(*) AS n, n / sum(n) OVER (PARTITION BY label), avg(probability) FROM text
WHERE NOT failed AND label IS NOT NULL GROUP BY label, prediction ORDER BY label, n DESC, prediction
"""


def overview(database: Database, run: Run, n_units: int) -> Overview:
    """Return the counts of a run whose texts are loaded, with the number of units of all its texts."""
    ((n_texts, n_explained, n_failed, n_queries, accuracy, n_labelled, n_other_labels),) = database.run(_OVERVIEW)
    ((n_distinct,),), ((reliable,),) = database.run(_DISTINCT), database.run(_RELIABLE)
    asked = run.manifest.asked
    return Overview(
        model=str(asked.model.get("name", "")),
        method=str(asked.method.get("name", "")),
        n_texts=n_texts,
        n_explained=n_explained,
        n_failed=n_failed,
        n_distinct=n_distinct,
        n_units=n_units,
        n_queries=n_queries,
        accuracy=accuracy,
        n_labelled=n_labelled,
        n_other_labels=n_other_labels,
        n_left=run.n_left,
        reliable=reliable,
        against=None if asked.against is None else str(asked.against),
    )


def predictions(database: Database) -> tuple[PredictedClass, ...]:
    """Return the predicted classes, the most frequent first."""
    return tuple(PredictedClass(*row) for row in database.run(_PREDICTIONS))


def quality(database: Database) -> tuple[Distribution, ...]:
    """Return the distributions of the measures of quality that the run has."""
    return tuple(
        Distribution(*row)
        for name, table in _MEASURES.items()
        for row in database.run(_QUALITY.format(column=name, table=table), {"name": name})
    )


def notes(database: Database, n_explained: int) -> tuple[NoteCount, ...]:
    """Return the notes of the explained texts, the most frequent first."""
    return tuple(NoteCount(*row) for row in database.run(_NOTES, {"explained": n_explained}))


def failures(database: Database) -> tuple[Failures, ...]:
    """Return the errors of the texts that failed, the most frequent first."""
    return tuple(Failures(*row) for row in database.run(_FAILURES))


def confusion(database: Database) -> tuple[Confusion, ...]:
    """Return labels with predictions, by label, the most frequent first; none without labels."""
    return tuple(Confusion(*row) for row in database.run(_CONFUSION))


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
        entries = [entry for result, _ in lists for entry in result]
        rows = iter(_rows(entries, examples(tables, opened, [entry.sought for entry in entries])))
        words, phrases, wrong, low_confidence, groups = (tuple(next(rows) for _ in result) for result, _ in lists)
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


def _rows(entries: list[Entry], result: list[tuple[Example, ...]]) -> list[Any]:
    return [entry.row(shown) for entry, shown in zip(entries, result, strict=True)]
