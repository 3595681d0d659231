"""Compare the scores of two runs: text by text, and beyond what sampling explains."""

import numpy as np
import pyarrow as pa

from mase.attribution.response import Z95
from mase.comparison.comparison import Frequent, Noise, Reasons
from mase.corpus.database import Database
from mase.statistics import critical_value, critical_z

__all__ = ["TOP", "compare_reasons"]

TOP = 5

# Of texts with the same document the first one counts; where documents are not stored, each text does.
_EXPLANATIONS = """
CREATE TEMP TABLE explanations AS
SELECT
    pairs.id, first_row, second_row, a.response, a.link AS first_link, b.link AS second_link,
    first_queries, second_queries, row_number() OVER (
        PARTITION BY a.response, document, answer, CASE WHEN document IS NULL THEN first_row END ORDER BY first_row
    ) = 1 AS is_first
FROM pairs
JOIN first_responses AS a ON a.row = first_row
JOIN second_responses AS b ON b.row = second_row AND b.response = a.response
"""
# A score is known to 1e-9 of the largest one of its text and run, and a difference to 1e-9 of the larger of both: the
# rest is rounding. The ratio of a difference and its standard error has a t distribution, whose degrees of freedom are
# Welch's; Wallace (Annals of Mathematical Statistics 30, 1959, p. 1124) turns it into a standard normal deviate.
# Without sampling (no error), each difference counts.
_WORDS = """
CREATE TEMP TABLE words AS
WITH
mine AS (
    SELECT e.first_row, e.second_row, e.response, u.position, u.field, u.start, u."end", u.word, u.score, u.error,
        u.rank, u.is_reason, first_queries - count(*) OVER text - 1 AS freedom
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
        a.is_reason AND b.is_reason AS are_reasons,
        a.error * a.error AS first_variance, b.error * b.error AS second_variance,
        greatest(a.freedom, 1) AS first_freedom, greatest(b.freedom, 1) AS second_freedom,
        max(abs(a.score)) OVER text AS first_size, max(abs(b.score)) OVER text AS second_size
    FROM mine AS a JOIN theirs AS b USING (first_row, response, field, start, "end")
    WINDOW text AS (PARTITION BY a.first_row, a.response)
),
differences AS (
    SELECT *, first_variance + second_variance AS variance,
        CASE
            WHEN abs(first - second) <= 1e-9 * greatest(first_size, second_size) THEN 0 ELSE second - first
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
        WHEN variance IS NULL THEN NULL
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
    found = database.run("SELECT DISTINCT first_link, second_link FROM explanations ORDER BY ALL")
    links = tuple((one, other) for one, other in found)
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
    reasons = Reasons(
        n_texts, n_words, n_unmatched, links, overlap, correlation, signs, noise, reason, rows[0][0], frequent
    )
    return reasons, database.table("SELECT * FROM agreement ORDER BY row, response")


def _tested(database: Database, links: tuple[tuple[str, str], ...], rate: float) -> tuple[int, float, str | None]:
    """Return the number of scores tested, the least significant deviate, and why nothing can be tested."""
    if any(one != other for one, other in links):
        return 0, np.inf, "the runs explain different links, whose scores have no unit in common; give both one link"
    if not links:
        return 0, np.inf, "no text has a response of the same name in both runs; explain the same classes"
    least = critical_value(rate)
    query = f"SELECT count(z), count(z) FILTER (z >= {least!r}), count(*) FROM words"
    tested, candidates, n_words = database.row(query)
    if not n_words:
        return 0, np.inf, "the runs have no score of the same unit in common; give both the same units"
    if not tested:
        return 0, np.inf, "the scores of a run have no standard errors, so that sampling noise is not known"
    batches = database.numbers(f"SELECT z FROM words WHERE z >= {least!r} ORDER BY z")
    return tested, critical_z(batches, candidates, tested, rate), None
