"""`mase.compare`: match the texts of two runs, and find changed predictions and reasons."""

import os
from collections.abc import Mapping, Set

import numpy as np
import pyarrow as pa

from mase.attribution.response import Z95
from mase.defaults import check_integer, is_real
from mase.errors import DataError, OptionError
from mase.models.origin import is_multilabel
from mase.sources.rows import fields_of
from mase.statistics import Mean, critical_value, critical_z, q_values
from mase_corpora.comparison import (
    Comparison,
    Example,
    Flip,
    Frequent,
    Noise,
    Predictions,
    Reasons,
    Shift,
    Shifts,
    Texts,
)
from mase_corpora.database import Database, database
from mase_corpora.read import Run, open_run
from mase_corpora.schema import bare, schema

_MATCHING_LISTED = 10

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

_NO_TURN = "CREATE TEMP TABLE to_turn (row BIGINT, response VARCHAR, n BIGINT)"
_TURN = (
    """
    INSERT INTO to_turn SELECT b.row, a.response, (SELECT count(*) FROM second_units AS u WHERE u.row = b.row) AS n
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

    Scores for one of two classes are nearly those for the other with the sign turned: near enough to find the words
    that changed a prediction, and not for a test against sampling noise. Return the class for which scores can then be
    counted in all texts, with the sign turned where they are for the other one. None where there are not two classes,
    or their scores are not opposite: of another link, without signs, or of separate questions. Runs of earlier releases
    do not say that questions are separate; a best class below one half does.
    """
    database.run(_NO_TURN)
    labels, asked = first.manifest.labels, (first.manifest.asked, second.manifest.asked)
    separate = any(item.target is not None or is_multilabel(item.model) for item in asked)
    if len(labels) != 2 or separate or database.row(_CANNOT_TURN)[0]:
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
    listed = database.run(f"{_FLIPS} LIMIT {_MATCHING_LISTED}")
    return Predictions(n, flipped, change, size, tuple(Flip(*values) for values in listed))


def flips(database: Database) -> pa.Table:
    """Return every text in `pairs` whose prediction differs, those first for which both runs are most confident."""
    return database.table(_FLIPS)


TOP = 5

# Of texts with the same document the first one counts; where documents are not stored, each text does.
_EXPLANATIONS = """
CREATE TEMP TABLE explanations AS
SELECT
    pairs.id, first_row, second_row, a.response, a.link AS first_link, b.link AS second_link,
    first_queries, second_queries, second_row IN (SELECT row FROM to_turn) AS is_turned, row_number() OVER (
        PARTITION BY a.response, document, answer, CASE WHEN document IS NULL THEN first_row END ORDER BY first_row
    ) = 1 AS is_first
FROM pairs
JOIN first_responses AS a ON a.row = first_row
JOIN second_responses AS b ON b.row = second_row AND b.response = a.response
"""

# A score is known to 1e-9 of the largest one of its text and run, and a difference to 1e-5 of the larger of both: the
# rest is rounding, as in float32, on another device, or in batches of another size. The ratio of a difference and its
# standard error has a t distribution, whose degrees of freedom are Welch's; Wallace (Annals of Mathematical Statistics
# 30, 1959, p. 1124) turns it into a standard normal deviate. Without sampling (no error), each difference counts.
_WORDS = """
CREATE TEMP TABLE words AS
WITH
mine AS (
    SELECT e.first_row, e.second_row, e.response, u.position, u.field, u.start, u."end", u.word, u.score, u.error,
        u.rank, u.is_reason, is_turned, first_queries - count(*) OVER text - 1 AS freedom
    FROM explanations AS e JOIN first_units AS u ON u.row = e.first_row AND u.response = e.response
    WINDOW text AS (PARTITION BY e.first_row, e.response)
),
theirs AS (
    SELECT e.first_row, e.response, u.field, u.start, u."end", u.score, u.error,
        u.rank, u.is_reason, second_queries - count(*) OVER text - 1 AS freedom
    FROM explanations AS e JOIN second_units AS u ON u.row = e.second_row AND u.response = e.response
    WINDOW text AS (PARTITION BY e.first_row, e.response)
),
joined AS (
    SELECT a.first_row, a.response, a.position, a.field, a.start, a."end", a.word,
        a.score AS first, b.score AS second, a.rank AS first_rank, b.rank AS second_rank,
        a.is_reason AND b.is_reason AS are_reasons, is_turned,
        a.error * a.error AS first_variance, b.error * b.error AS second_variance,
        greatest(a.freedom, 1) AS first_freedom, greatest(b.freedom, 1) AS second_freedom,
        max(abs(a.score)) OVER text AS first_size, max(abs(b.score)) OVER text AS second_size
    FROM mine AS a JOIN theirs AS b USING (first_row, response, field, start, "end")
    WINDOW text AS (PARTITION BY a.first_row, a.response)
),
differences AS (
    SELECT *, first_variance + second_variance AS variance,
        CASE
            WHEN abs(first - second) <= 1e-5 * greatest(first_size, second_size) THEN 0 ELSE second - first
        END AS difference,
        round(first / nullif(first_size, 0), 9) AS first_rounded,
        round(second / nullif(second_size, 0), 9) AS second_rounded
    FROM joined
),
ratios AS (
    SELECT *, difference * difference / nullif(variance, 0) AS squared,
        variance * variance / nullif(first_variance * first_variance / first_freedom
            + second_variance * second_variance / second_freedom, 0) AS freedom
    FROM differences
)
SELECT first_row AS row, response, position, field, start, "end", word, first, second, first_rank, second_rank,
    are_reasons, first_rounded, second_rounded, first_variance, second_variance, difference,
    CASE
        WHEN variance IS NULL OR is_turned THEN NULL
        WHEN difference = 0 THEN 0
        WHEN squared IS NULL OR freedom IS NULL OR NOT isfinite(squared) THEN 'infinity'::DOUBLE
        ELSE (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * ln(1 + squared / freedom))
    END AS z
FROM ratios
"""

# Ties get their average rank. Words whose score is 0 are no top words; where neither run has another one, the overlap
# is not known. A sign counts where a score is not 0 but for rounding, and outside of the 95 % interval of 0.
_TEXTS = """
CREATE TEMP TABLE agreement AS
WITH
sizes AS (
    SELECT e.first_row AS row, e.response, any_value(e.id) AS id, count(u.row) AS first_words,
        count(*) FILTER (u.is_reason AND u.rank <= {top}) AS first_tops
    FROM explanations AS e LEFT JOIN first_units AS u ON u.row = e.first_row AND u.response = e.response GROUP BY ALL
),
others AS (
    SELECT e.first_row AS row, e.response, count(u.row) AS second_words,
        count(*) FILTER (u.is_reason AND u.rank <= {top}) AS second_tops
    FROM explanations AS e LEFT JOIN second_units AS u ON u.row = e.second_row AND u.response = e.response GROUP BY ALL
),
ranked AS (
    SELECT *,
        rank() OVER by_first + (count(*) OVER same_first - 1) / 2 AS first_order,
        rank() OVER by_second + (count(*) OVER same_second - 1) / 2 AS second_order,
        first_rounded <> 0 AND abs(first) > {z95} * sqrt(coalesce(first_variance, 0))
            OR second_rounded <> 0 AND abs(second) > {z95} * sqrt(coalesce(second_variance, 0)) AS clear
    FROM words
    WINDOW
        by_first AS (PARTITION BY row, response ORDER BY first_rounded),
        by_second AS (PARTITION BY row, response ORDER BY second_rounded),
        same_first AS (PARTITION BY row, response, first_rounded),
        same_second AS (PARTITION BY row, response, second_rounded)
),
shared AS (
    SELECT row, response, count(*) AS words,
        count(*) FILTER (are_reasons AND first_rank <= {top} AND second_rank <= {top}) AS tops,
        corr(first_order, second_order) AS rank_correlation,
        avg((sign(first_rounded) IS NOT DISTINCT FROM sign(second_rounded))::INT) FILTER (clear) AS sign_agreement,
        count(*) FILTER (z >= {critical}) AS changed,
    FROM ranked GROUP BY ALL
)
SELECT id, row, response, first_words, second_words, coalesce(words, 0) AS words,
    coalesce(tops, 0) / nullif(greatest(first_tops, second_tops), 0) AS top_overlap,
    CASE WHEN isfinite(rank_correlation) THEN rank_correlation END AS rank_correlation, sign_agreement,
    {changed} AS words_changed
FROM sizes JOIN others USING (row, response) LEFT JOIN shared USING (row, response)
"""

_TOTALS = """
SELECT count(DISTINCT row), coalesce(sum(words), 0)::BIGINT,
    coalesce(sum(first_words + second_words - 2 * words), 0)::BIGINT,
    avg(top_overlap), avg(rank_correlation), avg(sign_agreement),
    coalesce(sum(words_changed), 0)::BIGINT, count(DISTINCT row) FILTER (words_changed > 0)
FROM agreement
"""

# How much more often a word is in flipped texts without a common response than in the other texts compared, as the
# signed root of the likelihood ratio of two proportions would order it.
_LEFT_OUT = """
WITH
flipped AS (
    SELECT first_row AS row, first_prediction <> second_prediction AND first_probability IS NOT NULL
        AND first_row NOT IN (SELECT first_row FROM explanations) AS is_left FROM pairs
),
counts AS (
    SELECT word, count(DISTINCT row) FILTER (is_left) AS n_left, count(DISTINCT row) FILTER (NOT is_left) AS n_other
    FROM first_units JOIN flipped USING (row) GROUP BY word
),
totals AS (SELECT count(*) FILTER (is_left) AS left_out, count(*) FILTER (NOT is_left) AS others FROM flipped)
SELECT left_out, word, n_left, n_other, others FROM totals LEFT JOIN counts
    ON n_left > 1 AND n_left / left_out > n_other / greatest(others, 1)
ORDER BY n_left / left_out - n_other / greatest(others, 1) DESC, word LIMIT {top}
"""


def compare_reasons(database: Database, rate: float) -> tuple[Reasons, pa.Table]:
    """Make the table `words` of scores that both runs have; return how they differ, and that for every text.

    Parameters
    ----------
    database
        Has the table `pairs` of `match`.
    rate
        False discovery rate of the test of single scores.
    """
    database.run(_EXPLANATIONS)
    result = database.run("SELECT DISTINCT first_link, second_link FROM explanations ORDER BY ALL")
    links = tuple((item, other) for item, other in result)
    database.run(_WORDS)
    tested, critical, reason = _tested(database, links, rate)
    known = f"{critical!r}::DOUBLE" if np.isfinite(critical) else "'infinity'::DOUBLE"
    changed = "NULL::BIGINT" if reason else "coalesce(changed, 0)"
    database.run(_TEXTS.format(top=TOP, critical=known, changed=changed, z95=Z95))
    *agreement, words_changed, texts_changed = database.row(_TOTALS)
    noise = None if reason else Noise(rate, tested, words_changed, texts_changed)
    n_texts, n_words, n_unmatched, overlap, correlation, signs = agreement
    rows = database.run(_LEFT_OUT.format(top=TOP))
    frequent = tuple(Frequent(*row) for _, *row in rows if row[0] is not None)
    (n_turned,) = database.row("SELECT count(*) FROM explanations WHERE is_turned")
    counts = (n_texts, n_words, n_unmatched, links, overlap, correlation, signs)
    reasons = Reasons(*counts, noise, reason, rows[0][0], frequent, n_turned)
    return reasons, database.table("SELECT * FROM agreement ORDER BY row, response")


def _tested(database: Database, links: tuple[tuple[str, str], ...], rate: float) -> tuple[int, float, str | None]:
    """Return the number of scores tested, the least significant deviate, and why nothing can be tested."""
    if any(item != other for item, other in links):
        return 0, np.inf, "the runs explain different links, whose scores have no unit in common; give both one link"
    if not links:
        return 0, np.inf, "no text has a response of the same name in both runs; explain the same classes"
    least = critical_value(rate)
    query = f"SELECT count(z), count(z) FILTER (z >= {least!r}), count(*) FROM words"
    tested, candidates, n_words = database.row(query)
    if not n_words:
        return 0, np.inf, "the runs have no score of the same unit in common; give both the same units"
    if not tested and database.row("SELECT bool_and(is_turned) FROM explanations")[0]:
        return 0, np.inf, "the prediction of each text is another; run both with --target CLASS"
    if not tested:
        return 0, np.inf, "the scores of a run have no standard errors, so that sampling noise is not known"
    batches = database.numbers(f"SELECT z FROM words WHERE z >= {least!r} ORDER BY z")
    return tested, critical_z(batches, candidates, tested, rate), None


_SHIFTS_LISTED, _EXAMPLES, _CONTEXT = 20, 3, 40

# Copies of a text have the same scores in a run, noise included, and are no new evidence: the first one counts.
_DIFFERENT = """
CREATE TEMP VIEW different AS
SELECT words.*{turned} FROM words JOIN explanations ON first_row = row AND explanations.response = words.response
WHERE is_first
"""

_TURNED = """ REPLACE (
    {sign} * first AS first, {sign} * second AS second, {sign} * difference AS difference, {common} AS response
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
    turned = "" if common is None else _TURNED.format(sign=sign, common=literal)
    database.run(_DIFFERENT.format(turned=turned))
    result = database.table(_MEANS.format(min_texts=max(min_texts, 2)))
    n = result.column("n_texts").to_numpy()
    mean, deviation = result.column("difference").to_numpy(), result.column("deviation").to_numpy()
    # The same difference in every text, but for rounding, has no error.
    error = np.where(deviation <= 1e-9 * np.abs(mean), 0.0, deviation / np.sqrt(n))
    difference = Mean(mean, error**2, n - 1.0)
    p_values, (low, high) = difference.p_values(), difference.interval()
    shifted = q_values(p_values) <= rate
    columns = {"low": low, "high": high, "p_value": p_values, "shifted": shifted}
    table = result.drop_columns(["deviation"])
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    largest = [index for index in np.argsort(-np.abs(mean), kind="stable") if shifted[index]][:_SHIFTS_LISTED]
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


def compare(
    first: Run | str | os.PathLike[str],
    second: Run | str | os.PathLike[str],
    *,
    common_only: bool = False,
    min_texts: int = 20,
    rate: float = 0.05,
) -> Comparison:
    """Return which predictions and which reasons differ between two runs over the same texts.

    Texts are matched by id. Their documents must be equal, and of language models the explained answers, too. Scores
    are compared for the responses (classes) that both runs explain of a text. Of two classes whose scores are nearly
    opposite (of the links margin and probability), those for one are counted for the other with the sign turned, if the
    runs explain the predicted class; they are not tested against noise. Of more, texts whose prediction flips are left
    out, and words that are frequent in them are named. Single scores are tested with the difference divided by
    ``sqrt(se_1**2 + se_2**2)``, over all words of all texts at the false discovery rate `rate` (Benjamini and
    Hochberg). The rate is as good as the standard errors: where they are too small, as they are for a few words of some
    texts, two runs that differ by their seed alone have false discoveries, too. With the same seed, the two share a
    part of their noise, and the test is conservative.

    Parameters
    ----------
    first, second
        Runs, or their folders.
    common_only
        Compare the texts that both runs explained, even if others are in one only, have different documents, or failed
        in one of the runs.
    min_texts
        Test the mean score of words that occur in at least so many different texts. A text that occurs several times
        counts once, unless neither run has texts, without which copies cannot be recognised.
    rate
        False discovery rate of the tests of single scores, and of words.

    Raises
    ------
    DataError
        If a run cannot be read, an id is not unique, or the texts differ or failed in one run only and `common_only` is
        not set.
    OptionError
        If `min_texts` is below 2, `rate` is not between 0 and 1, or `first` or `second` is neither a run nor a path.
    MissingDependencyError
        If DuckDB is not installed.

    Notes
    -----
    Scores of different links have different units. Where the runs explain different links, the order and the signs of
    the scores are compared, and neither the sizes of single scores nor the means of words.
    """
    min_texts = check_integer("min_texts", min_texts, 2)
    if not is_real(rate) or not 0 < rate < 1:
        raise OptionError(f"rate is {rate!r:.60}, expected a number between 0 and 1, for example 0.05")
    item, other = open_run(first), open_run(second)
    with database() as connection:
        texts = match(connection, item, other)
        if not common_only:
            _check_equal(texts)
        changed = predictions(connection)
        common = turn(connection, item, other)
        reasons, agreement = compare_reasons(connection, rate)
        tables = {"flips": flips(connection), "reasons": agreement}
        shifts = None
        if all(link == other_link for link, other_link in reasons.links):
            shifts, tables["words"] = compare_words(connection, item, min_texts, rate, common)
    places = item.folder.place, other.folder.place
    return Comparison(*places, texts, changed, reasons, shifts, tables, common_only)


def _check_equal(texts: Texts) -> None:
    unequal = {
        "only in the first run": texts.only_first,
        "only in the second run": texts.only_second,
        "with different documents or answers": texts.different,
        "that failed in the first run only": texts.failed_first - texts.failed_both,
        "that failed in the second run only": texts.failed_second - texts.failed_both,
    }
    if any(unequal.values()):
        counts = ", ".join(f"{count:,} {what}" for what, count in unequal.items() if count)
        raise DataError(
            f"the runs have different texts: {counts}; expected the same, or common_only=True to compare the "
            f"{texts.compared:,} that are equal and explained in both"
        )
