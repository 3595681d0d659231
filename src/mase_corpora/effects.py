"""Effects of words and phrases over all texts, and their totals.

In a text and for a response, a word has an `effect`, the mean score of its occurrences, and a `push`, their sum. Both
are also taken relative to the mean score of all units of the text: `relative` and `relative_push`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mase_corpora.database import Database
from mase_corpora.tables import Batch

Direction = Literal["towards", "away"]


@dataclass(frozen=True, slots=True)
class Example:
    """An occurrence in context: up to 40 characters `before` and `after` it, and its score.

    `text` is as in the document, not in lower case. If the run holds no texts, it is the word or phrase of the row, and
    `before` and `after` are empty. `id` and `row` name the text. A context that was cut does not begin or end with an
    ellipsis; `cut_before` and `cut_after` say so.
    """

    id: str
    row: int
    before: str
    text: str
    after: str
    score: float
    cut_before: bool = False
    cut_after: bool = False


@dataclass(frozen=True, slots=True)
class WordEffect:
    """A word (in lower case) that pushes towards a response or away from it.

    Attributes
    ----------
    response
        The response, such as a class, of which the texts were explained.
    direction
        ``"towards"`` if the word increases the response on average, else ``"away"``.
    n_texts, n_occurrences
        Different texts with the word, and its occurrences in them.
    effect, low, high
        Mean effect with a 95 % interval: the mean score over the occurrences in a text, then the mean over the texts.
        In the unit of the response.
    share_top
        Share of these texts in which an occurrence has one of the five highest scores of the text ("towards"), or one
        of the five lowest ("away").
    p_value, q_value
        The larger of the p-values of two t-tests over texts: of the effect against 0, and against the mean score of all
        units of the same text. The q-value controls the false discovery rate over all words of all responses.
    examples
        At most three occurrences: of the strongest score in the direction, of the score nearest to the mean effect, and
        of the weakest score.
    """

    response: str
    direction: Direction
    word: str
    n_texts: int
    n_occurrences: int
    effect: float
    low: float
    high: float
    share_top: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class PhraseEffect:
    """Two neighbouring words (in lower case, joined by a space) whose effect differs from that of the words elsewhere.

    Attributes
    ----------
    response, direction, n_texts, n_occurrences, p_value, q_value, examples
        As of `WordEffect`. The p-value is the largest of those of the effect and of `difference`.
    phrase
        The two words.
    effect, low, high
        Mean effect with a 95 % interval: the sum of the scores of the two words, its mean over the occurrences in a
        text, then over the texts.
    expected
        Sum of the mean effects that the two words have in the texts without the phrase.
    difference, difference_low, difference_high
        `effect` minus `expected`, with a 95 % interval.
    share_top
        Share of the texts in which a word of an occurrence has one of the five highest (lowest) scores of the text.
    """

    response: str
    direction: Direction
    phrase: str
    n_texts: int
    n_occurrences: int
    effect: float
    low: float
    high: float
    expected: float
    difference: float
    difference_low: float
    difference_high: float
    share_top: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class PushDifference:
    """A word whose push differs between some of the texts with a prediction and the rest of them.

    The push of a word in a text is the sum of its scores for the predicted class; it is 0 in a text without the word.
    For wrong predictions, the texts are those whose label is another class and the words push towards the predicted
    class more than in right predictions. For low-confidence predictions, the words push towards it less than in the
    others.

    Attributes
    ----------
    prediction
        The predicted class.
    word
        The word, in lower case.
    n_texts, n_others
        Wrong (low-confidence) predictions with the word, and other predictions of the class with it.
    share, share_others
        The same as shares of all wrong (low-confidence) and of all other predictions of the class.
    effect, effect_others
        Mean effect of the word where it occurs, in these texts and in the others (NaN if it occurs in none).
    difference, low, high
        Mean push in these texts minus mean push in the others, with Welch's 95 % interval.
    p_value, q_value
        The larger of the p-values of Welch's test for the push and for the push relative to the mean score of the text.
        The q-value controls the false discovery rate over all words and classes of the table.
    examples
        As of `WordEffect`, from these texts.
    """

    prediction: str
    word: str
    n_texts: int
    n_others: int
    share: float
    share_others: float
    effect: float
    effect_others: float
    difference: float
    low: float
    high: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """A word whose mean effect on a response in the texts of one group differs from that in all other groups.

    `difference` is `effect` (of the texts of the group with the word) minus `effect_others` (of the other texts with
    it), with Welch's 95 % interval. The other fields are as in `PushDifference`. The examples are of the group.
    """

    response: str
    group: str
    word: str
    n_texts: int
    n_others: int
    effect: float
    effect_others: float
    difference: float
    low: float
    high: float
    p_value: float
    q_value: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """The tests of one table: how many words or phrases were tested, and how many passed before `top` cut the list."""

    table: str
    n_tested: int
    n_found: int


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
