"""Compare the mean scores of words over the texts of two runs."""

from collections.abc import Mapping, Set

import numpy as np
import pyarrow as pa

from mase.comparison.comparison import Example, Shift, Shifts
from mase.corpus.database import Database
from mase.corpus.documents import fields_of
from mase.corpus.opened import Run
from mase.statistics import Mean, q_values

__all__ = ["compare_words"]

_LISTED, _EXAMPLES, _CONTEXT = 20, 3, 40
# Copies of a text have the same scores in a run, noise included, and are no new evidence: the first one counts.
_DIFFERENT = """
CREATE TEMP VIEW different AS
SELECT words.*{turned} FROM words JOIN explanations ON first_row = row AND explanations.response = words.response
WHERE is_first
"""
_TURNED = """ REPLACE (
    sign * first AS first, sign * second AS second, sign * difference AS difference, {common} AS response
)"""
# A word that a text has several times counts once, with its mean.
_MEANS = """
SELECT response, word, count(*) AS n_texts, avg(first) AS first_mean, avg(second) AS second_mean,
    avg(difference) AS difference, coalesce(stddev_samp(difference), 0) AS deviation
FROM (
    SELECT row, response, word, avg(first) AS first, avg(second) AS second, avg(difference) AS difference
    FROM different GROUP BY ALL
)
GROUP BY ALL HAVING count(*) >= {min_texts} ORDER BY response, word
"""
_ROWS_OF = """
SELECT id, row, field, start, "end", first, second
FROM (SELECT * FROM different WHERE response = $response AND word = $word ORDER BY abs(difference) DESC, row, position
      LIMIT {examples}) AS w
JOIN first_texts AS t USING (row) ORDER BY abs(difference) DESC, row, position
"""


def compare_words(
    database: Database, first: Run, min_texts: int, rate: float, common: str | None = None
) -> tuple[Shifts, pa.Table]:
    """Return the words whose mean score differs over texts, and the means of all words that were tested.

    The difference of a word is paired: its mean over different texts, with the interval and test of Student's t.

    Parameters
    ----------
    database
        Has the tables `words` and `explanations` of `compare_reasons`, and `first_texts`.
    first
        The first run, whose texts are shown in examples.
    min_texts
        Test words that occur in at least so many different texts.
    rate
        False discovery rate.
    common
        The class of two for which all scores are counted; None to count those of each class.
    """
    literal = "" if common is None else "'" + common.replace("'", "''") + "'"
    sign = f"CASE WHEN words.response = {literal} THEN 1 ELSE -1 END"
    turned = "" if common is None else _TURNED.replace("sign", sign).format(common=literal)
    database.run(_DIFFERENT.format(turned=turned))
    found = database.table(_MEANS.format(min_texts=max(min_texts, 2)))
    n = found.column("n_texts").to_numpy()
    mean, deviation = found.column("difference").to_numpy(), found.column("deviation").to_numpy()
    # The same difference in every text, but for rounding, has no error.
    error = np.where(deviation <= 1e-9 * np.abs(mean), 0.0, deviation / np.sqrt(n))
    difference = Mean(mean, error**2, n - 1.0)
    p_values, (low, high) = difference.p_values(), difference.interval()
    shifted = q_values(p_values) <= rate
    columns = {"low": low, "high": high, "p_value": p_values, "shifted": shifted}
    table = found.drop_columns(["deviation"])
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    largest = [index for index in np.argsort(-np.abs(mean), kind="stable") if shifted[index]][:_LISTED]
    listed = _with_examples(database, first, table.take(pa.array(largest, pa.int64())).drop_columns(["shifted"]))
    return Shifts(min_texts, rate, len(n), int(shifted.sum()), listed), table


def _with_examples(database: Database, run: Run, table: pa.Table) -> tuple[Shift, ...]:
    """Return the words of a table with the uses that differ most, in their texts."""
    query = _ROWS_OF.format(examples=_EXAMPLES)
    words = table.to_pylist()
    uses = [database.run(query, {"response": word["response"], "word": word["word"]}) for word in words]
    documents = _documents(run, {use[1] for of_word in uses for use in of_word})
    return tuple(
        Shift(**word, examples=tuple(_example(documents, *use) for use in of_word))
        for word, of_word in zip(words, uses, strict=True)
    )


def _documents(run: Run, rows: Set[int]) -> dict[int, str | None]:
    """Return the documents of some rows; None if the run has none."""
    documents: dict[int, str | None] = {}
    size = run.plan.part_size
    for part in sorted({row // size for row in rows}):
        column = run.part("texts", part).column("document")
        documents |= {row: column[row - part * size].as_py() for row in rows if row // size == part}
    return documents


def _example(
    documents: Mapping[int, str | None],
    identity: str,
    row: int,
    field: str,
    start: int,
    end: int,
    first: float,
    second: float,
) -> Example:
    text = dict(fields_of(documents[row], row)).get(field, "")
    before, after = text[max(0, start - _CONTEXT) : start], text[end : end + _CONTEXT]
    return Example(identity, before, text[start:end], after, first, second)
