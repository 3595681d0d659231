"""Match the texts of two runs, and compare their predictions."""

import pyarrow as pa

from mase.comparison.comparison import Flip, Predictions, Texts
from mase.corpus.columns import schema
from mase.corpus.database import Database
from mase.corpus.opened import Run
from mase.corpus.words import bare
from mase.errors import DataError

__all__ = ["flips", "match", "predictions", "turn"]

_LISTED = 10
# Documents and answers are compared by their checksums, so that they need not be held. A score that is 0 but for
# rounding, below 1e-9 of the largest of its text, is no reason. The rows of a text are loaded together.
_COLUMNS = {
    "texts": """
        id, row, md5_number(document) AS document, md5_number(explained_answer) AS answer, prediction, probability,
        n_queries, error
    """,
    "responses": "row, response, link, against",
    "units": """
        row, response, position, field, start, "end", text AS word, score, standard_error AS error, rank,
        coalesce(abs(score) > 1e-9 * max(abs(score)) OVER (PARTITION BY row, response), false) AS is_reason
    """,
}
_MATCH = """
CREATE TEMP TABLE pairs AS
SELECT
    a.id, a.row AS first_row, b.row AS second_row, coalesce(a.document, b.document) AS document, a.answer,
    a.error IS NOT NULL AS first_failed, b.error IS NOT NULL AS second_failed,
    {same} AND (first_failed OR second_failed OR a.answer IS NOT DISTINCT FROM b.answer) AS same_document,
    a.prediction AS first_prediction, a.probability AS first_probability, a.n_queries AS first_queries,
    b.prediction AS second_prediction, b.probability AS second_probability, b.n_queries AS second_queries
FROM first_texts AS a JOIN second_texts AS b ON a.id = b.id
"""
_SAME = "a.document IS NOT DISTINCT FROM b.document"
_COUNT = """
SELECT
    count(*) FILTER (same_document AND NOT first_failed AND NOT second_failed) AS compared,
    (SELECT count(*) FROM first_texts) - count(*) AS only_first,
    (SELECT count(*) FROM second_texts) - count(*) AS only_second,
    count(*) FILTER (NOT same_document) AS different,
    count(*) FILTER (same_document AND first_failed) AS failed_first,
    count(*) FILTER (same_document AND second_failed) AS failed_second,
    count(*) FILTER (same_document AND first_failed AND second_failed) AS failed_both
FROM pairs
"""
_KEEP = "DELETE FROM pairs WHERE NOT same_document OR first_failed OR second_failed"
# Models of values have no probabilities, and so no predictions that can flip.
_PREDICTIONS = """
SELECT
    count(*), count(*) FILTER (flipped),
    avg(change) FILTER (NOT flipped), avg(abs(change)) FILTER (NOT flipped)
FROM (
    SELECT first_prediction <> second_prediction AS flipped, second_probability - first_probability AS change FROM pairs
    WHERE first_probability IS NOT NULL AND second_probability IS NOT NULL
)
"""
# Links whose scores for one of two classes are those for the other with the opposite sign.
_OPPOSITE = ("margin", "probability")
_BOTH = "(SELECT * FROM {first} UNION ALL SELECT * FROM {second})"
_CANNOT_TURN = f"""
SELECT
    (SELECT count(DISTINCT response) FROM {_BOTH}) <> 2
    OR EXISTS (FROM {_BOTH} WHERE against IS NOT NULL OR link NOT IN {_OPPOSITE})
    OR (SELECT count(*) > count(DISTINCT row) FROM {{first}}) OR (SELECT count(*) > count(DISTINCT row) FROM {{second}})
    OR EXISTS (FROM first_texts WHERE probability < 0.5) OR EXISTS (FROM second_texts WHERE probability < 0.5)
    OR (SELECT min(score) >= 0 FROM first_units) OR (SELECT min(score) >= 0 FROM second_units)
""".format(first="first_responses", second="second_responses")
_TURN = (
    """
    CREATE TEMP TABLE to_turn AS
    SELECT b.row, a.response, (SELECT count(*) FROM second_units AS u WHERE u.row = b.row) AS n
    FROM pairs JOIN first_responses AS a ON a.row = first_row JOIN second_responses AS b ON b.row = second_row
    WHERE a.response <> b.response
    """,
    """
    UPDATE second_units AS u SET score = -score, rank = n + 1 - rank, response = t.response
    FROM to_turn AS t WHERE t.row = u.row
    """,
    "UPDATE second_responses AS r SET response = t.response FROM to_turn AS t WHERE t.row = r.row",
)
_FLIPS = """
SELECT
    id, first_row AS row, first_prediction, first_probability, second_prediction, second_probability
FROM pairs WHERE first_prediction <> second_prediction
    AND first_probability IS NOT NULL AND second_probability IS NOT NULL
ORDER BY least(first_probability, second_probability) DESC, first_row
"""


def match(database: Database, first: Run, second: Run) -> Texts:
    """Load two runs, make the table `pairs` of the texts that both explained, and return how the texts match."""
    documents = [run.manifest.asked.documents for run in (first, second)]
    if not all(documents) and first.manifest.asked.input != second.manifest.asked.input:
        raise DataError(
            "a run was made without its texts, and the runs have different inputs, so that it cannot be "
            "told whether the texts are equal; expected runs with texts, or of the same input"
        )
    for name, run in (("first", first), ("second", second)):
        for table, columns in _COLUMNS.items():
            rows = run.tables(table, kept=False)
            database.load(f"{name}_{table}", schema(table), map(_worded, rows) if table == "units" else rows, columns)
        twice = database.run(f"SELECT id FROM {name}_texts GROUP BY id HAVING count(*) > 1 LIMIT 1")
        if twice:
            raise DataError(f"the run {run.folder.place!r} has the id {twice[0][0]!r:.80} twice, expected unique ids")
    database.run(_MATCH.format(same=_SAME if all(documents) else "true"))
    texts = Texts(*database.row(_COUNT), *(run.n_left for run in (first, second)))
    database.run(_KEEP)
    return texts


def turn(database: Database, first: Run, second: Run) -> str | None:
    """Explain of each text the class that the first run explains, where that is the other of two.

    Return the class for which scores can then be counted in all texts, with the sign turned where they are for the
    other one. None where there are not two classes, or their scores are not opposite: of another link, without signs,
    or of separate questions, which shows in a best class below one half.
    """
    labels, asked = first.manifest.labels, (first.manifest.asked, second.manifest.asked)
    if len(labels) != 2 or any(one.target is not None for one in asked) or database.row(_CANNOT_TURN)[0]:
        return None
    for statement in _TURN:
        database.run(statement)
    return labels[1]


def _worded(units: pa.Table) -> pa.Table:
    """Return units with their words in the place of their texts."""
    different = units.column("text").combine_chunks().dictionary_encode()
    return units.set_column(
        units.column_names.index("text"), "text", bare(different.dictionary).take(different.indices)
    )


def predictions(database: Database) -> Predictions:
    """Return how the predictions of the texts in `pairs` differ."""
    n, flipped, change, size = database.row(_PREDICTIONS)
    listed = database.run(f"{_FLIPS} LIMIT {_LISTED}")
    return Predictions(n, flipped, change, size, tuple(Flip(*values) for values in listed))


def flips(database: Database) -> pa.Table:
    """Return every text in `pairs` whose prediction differs, those first for which both runs are most confident."""
    return database.table(_FLIPS)
