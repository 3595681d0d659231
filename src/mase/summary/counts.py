"""What a run holds and how far it can be trusted, counted in the database."""

from mase.corpus.database import Database
from mase.corpus.opened import Run
from mase.summary.overview import Confusion, Distribution, Failures, NoteCount, Overview, PredictedClass

__all__ = ["confusion", "failures", "notes", "overview", "predictions", "quality"]

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
SELECT code, sum(n)::BIGINT AS texts, texts / $explained, min(message) FROM note GROUP BY code ORDER BY texts DESC, code
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
