"""Sums over the texts for every word and phrase, collected batch by batch in the database.

In a text and for a response, a word has an `effect`, the mean score of its occurrences, and a `push`, their sum. Both
are also taken relative to the mean score of all units of the text: `relative` and `relative_push`.
"""

from collections.abc import Iterable

from mase.corpus.database import Database
from mase.summary.batches import Batch

__all__ = ["CONTRASTS", "OWN", "collect", "place"]

# Sets of texts that are compared with others, with the column of `explained` that says which set a text is in.
CONTRASTS = {"wrong": "wrong", "low_confidence": "low", "groups": "group_number"}

_SUMS = "sum({0}) AS {0}, sum({0} * {0}) AS {0}_squares"
_ONE_WORD = f"""
count(*)::DOUBLE AS n, sum(occurrences)::DOUBLE AS occurrences, {_SUMS.format("effect")}, {_SUMS.format("relative")},
count(*) FILTER (first_rank <= 5)::DOUBLE AS top, count(*) FILTER (last_rank > units - 5)::DOUBLE AS bottom
"""
_ADDED = """
sum(n) AS n, sum(occurrences) AS occurrences, sum(effect) AS effect, sum(effect_squares) AS effect_squares,
sum(relative) AS relative, sum(relative_squares) AS relative_squares, sum(top) AS top, sum(bottom) AS bottom
"""
# The mean scores that the two words of a phrase have in its own texts, anywhere in these.
_OWN_MEANS = ("first_effect", "first_relative", "second_effect", "second_relative")
_OWN_SUMS = ", ".join(_SUMS.format(name) for name in _OWN_MEANS)
# The columns of their sums in `phrase_total`.
OWN = tuple(f"{name}{squares}" for name in _OWN_MEANS for squares in ("", "_squares"))
_PARTS = f"""
CREATE TABLE word_part (
    response VARCHAR, word VARCHAR, n DOUBLE, occurrences DOUBLE, effect DOUBLE, effect_squares DOUBLE, relative DOUBLE,
    relative_squares DOUBLE, top DOUBLE, bottom DOUBLE
);
CREATE TABLE phrase_part (
    response VARCHAR, word VARCHAR, next_word VARCHAR, n DOUBLE, occurrences DOUBLE, effect DOUBLE,
    effect_squares DOUBLE, relative DOUBLE, relative_squares DOUBLE, top DOUBLE, bottom DOUBLE,
    {", ".join(f"{name} DOUBLE" for name in OWN)}
);
CREATE TABLE contrast_part (
    contrast VARCHAR, response VARCHAR, word VARCHAR, side INTEGER, n DOUBLE, effect DOUBLE, effect_squares DOUBLE,
    relative DOUBLE, relative_squares DOUBLE, push DOUBLE, push_squares DOUBLE, relative_push DOUBLE,
    relative_push_squares DOUBLE
)
"""
_BLOCK = """
CREATE OR REPLACE TABLE block AS
SELECT block, units, mean, explained.*
FROM blocks JOIN explained ON blocks.row = explained.row AND blocks.response = explained.response
JOIN (SELECT block, count(*) AS units, avg(score) AS mean FROM units GROUP BY block) USING (block)
WHERE explained.row BETWEEN (SELECT min(row) FROM blocks) AND (SELECT max(row) FROM blocks)
"""
_UNITS = "SELECT coalesce(sum(units), 0)::BIGINT FROM (SELECT any_value(units) AS units FROM block GROUP BY row)"
_IN_TEXT = """
CREATE OR REPLACE TABLE in_text AS
SELECT counted.*, effect - mean AS relative, occurrences * effect AS push, occurrences * relative AS relative_push,
    block.* EXCLUDE (block, row, mean)
FROM (
    SELECT block, word, count(*) AS occurrences, avg(score) AS effect, min(rank) AS first_rank, max(rank) AS last_rank
    FROM units GROUP BY block, word
) AS counted JOIN block USING (block)
"""
_WORD = f"""
INSERT INTO word_part SELECT response, words.text, * EXCLUDE (response, word, text, spoken)
FROM (SELECT response, word, {_ONE_WORD} FROM in_text WHERE is_first GROUP BY response, word) JOIN words USING (word)
"""
_PHRASE = f"""
INSERT INTO phrase_part SELECT response, words.text, next_words.text, phrases.* EXCLUDE (response, word, next_word)
FROM (
    SELECT response, word, next_word, {_ONE_WORD}, {_OWN_SUMS} FROM (
        SELECT counted.*, counted.effect - 2 * mean AS relative, block.response, block.units,
            one.effect AS first_effect, one.relative AS first_relative,
            other.effect AS second_effect, other.relative AS second_relative
        FROM (
            SELECT block, word, next_word, count(*) AS occurrences, avg(score + next_score) AS effect,
                min(least(rank, next_rank)) AS first_rank, max(greatest(rank, next_rank)) AS last_rank
            FROM units WHERE next_word IS NOT NULL GROUP BY block, word, next_word
        ) AS counted JOIN block USING (block) JOIN in_text AS one USING (block, word)
        JOIN in_text AS other ON other.block = counted.block AND other.word = counted.next_word
        WHERE block.is_first
    ) GROUP BY response, word, next_word
) AS phrases JOIN words USING (word) JOIN words AS next_words ON next_word = next_words.word
WHERE words.spoken AND next_words.spoken
"""
_CONTRAST = f"""
INSERT INTO contrast_part SELECT $contrast, response, words.text, * EXCLUDE (response, word, text, spoken)
FROM (
    SELECT response, word, {{side}}::INTEGER AS side, count(*)::DOUBLE, {_SUMS.format("effect")},
        {_SUMS.format("relative")}, {_SUMS.format("push")}, {_SUMS.format("relative_push")}
    FROM in_text WHERE {{side}} IS NOT NULL GROUP BY response, word, {{side}}
) JOIN words USING (word)
"""
# Numbered in the order of the words, so that equal effects are listed in it.
_TOTALS = f"""
CREATE TABLE word_total AS
SELECT row_number() OVER (ORDER BY response, word) - 1 AS id, dense_rank() OVER (ORDER BY response) AS response_id, *
FROM (SELECT response, word, {_ADDED} FROM word_part GROUP BY response, word HAVING sum(n) >= {{min_texts:d}});
DROP TABLE word_part;
CREATE TABLE phrase_total AS
SELECT row_number() OVER (ORDER BY response, word, next_word) - 1 AS id,
    dense_rank() OVER (ORDER BY response) AS response_id, *
FROM (
    SELECT response, word, next_word, {_ADDED}, {", ".join(f"sum({name}) AS {name}" for name in OWN)}
    FROM phrase_part
    GROUP BY response, word, next_word HAVING sum(n) >= {{min_texts:d}}
);
DROP TABLE phrase_part;
CREATE TABLE contrast_total AS
SELECT contrast, response, word, side, sum(COLUMNS(* EXCLUDE (contrast, response, word, side))) FROM contrast_part
GROUP BY contrast, response, word, side;
DROP TABLE contrast_part
"""


def collect(database: Database, batches: Iterable[Batch], min_texts: int) -> int:
    """Make the tables of totals from the units of a run whose texts are loaded, and return the number of units.

    Words and phrases in fewer than `min_texts` texts are left out. A unit that was scored for several responses counts
    once.

    Raises
    ------
    DataError
        If a file of the run cannot be read.
    """
    database.run(_PARTS)
    n_units = 0
    for batch in batches:
        place(database, batch)
        n_units += database.run(_UNITS)[0][0]
        for statement in (_IN_TEXT, _WORD, _PHRASE):
            database.run(statement, **batch.tables)
        for contrast, side in CONTRASTS.items():
            database.run(_CONTRAST.format(side=side), {"contrast": contrast}, **batch.tables)
    database.run(_TOTALS.format(min_texts=min_texts))
    return n_units


def place(database: Database, batch: Batch) -> None:
    """Make the table `block` of a batch: for each text and response its units, and the sets that the text is in."""
    database.run(_BLOCK, **batch.tables)
