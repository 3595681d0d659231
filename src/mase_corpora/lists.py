"""The lists of a summary: tests of words, and examples."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mase.arrays import Bools, Floats, Ints
from mase.sources.rows import fields_of
from mase.statistics import Mean, passing, q_values
from mase.text import boundary
from mase_corpora.database import Database
from mase_corpora.effects import (
    CONTRASTS,
    OWN,
    Example,
    Family,
    GroupDifference,
    PhraseEffect,
    PushDifference,
    WordEffect,
    place,
)
from mase_corpora.read import Run
from mase_corpora.tables import batches

_CONTEXT = 40

_TABLES = """
CREATE TABLE sought (
    number INTEGER, response VARCHAR, word VARCHAR, next_word VARCHAR, contrast VARCHAR, side INTEGER, sign INTEGER,
    effect DOUBLE
);
CREATE TABLE pick (
    number INTEGER, kind INTEGER, key DOUBLE,
    place STRUCT(row BIGINT, field VARCHAR, "start" INTEGER, "end" INTEGER, score DOUBLE, word VARCHAR)
)
"""

# Whether a block is in the set of texts that examples are sought in.
_CHOSEN = "CASE contrast {} ELSE is_first END".format(
    " ".join(f"WHEN '{name}' THEN block.{column}::INTEGER = sought.side" for name, column in CONTRASTS.items())
)

_OCCURRENCES = f"""
CREATE OR REPLACE TABLE occurrence AS
SELECT number, sign, effect, {{score}} AS score,
    {{{{
        row: block.row, field: field, "start": "start", "end": {{end}}, score: {{score}},
        word: concat_ws(' ', sought.word, sought.next_word)
    }}}} AS place
FROM sought JOIN words ON words.text = sought.word {{join}}
JOIN units ON units.word = words.word {{also}}
JOIN block ON block.block = units.block AND block.response = sought.response
WHERE {{where}} AND {_CHOSEN}
"""

_WORD = _OCCURRENCES.format(score="score", end='"end"', join="", also="", where="sought.next_word IS NULL")

_EXAMPLES_PHRASE = _OCCURRENCES.format(
    score="score + next_score",
    end="next_end",
    join="JOIN words AS next_words ON next_words.text = sought.next_word",
    also="AND units.next_word = next_words.word",
    where="sought.next_word IS NOT NULL",
)

# The smallest key wins: the strongest in the direction, the one nearest to the mean effect, and the weakest.
_KEYS = ("-sign * score", "abs(score - effect)", "sign * score")

_PICK = ";".join(
    f"INSERT INTO pick SELECT number, {kind}, min({key}), arg_min(place, {key}) FROM occurrence GROUP BY number"
    for kind, key in enumerate(_KEYS)
)

_PICKED = """
SELECT number, place.row, place.field, place."start", place."end", place.score, place.word
FROM (SELECT number, kind, arg_min(place, key) AS place FROM pick GROUP BY number, kind) ORDER BY number, kind
"""


@dataclass(frozen=True, slots=True)
class Sought:
    """The occurrences to take examples from: of a word or phrase, for a response.

    `contrast` and `side` restrict them to a set of texts, as in `CONTRASTS`. The strongest has the highest score if
    `sign` is 1 and the lowest if it is -1; a typical one has the score nearest to `effect`.
    """

    response: str
    word: str
    next_word: str | None = None
    contrast: str | None = None
    side: int | None = None
    sign: int = 1
    effect: float = 0.0


@dataclass(frozen=True, slots=True)
class _Picked:
    """An occurrence of the entry `number`."""

    number: int
    row: int
    field: str
    start: int
    end: int
    score: float
    word: str


def examples(database: Database, run: Run, sought: Sequence[Sought]) -> list[tuple[Example, ...]]:
    """Return the examples of each entry: at most three, since one occurrence may be the strongest and the weakest."""
    if not sought:
        return []
    database.run(_TABLES)
    columns = zip(*(astuple(entry) for entry in sought), strict=True)
    names = ("response", "word", "next_word", "contrast", "side", "sign", "effect")
    table = pa.table({"number": range(len(sought)), **dict(zip(names, columns, strict=True))})
    database.run("INSERT INTO sought SELECT * FROM listed", listed=table)
    for batch in batches(run):
        place(database, batch)
        for statement in (_WORD, _EXAMPLES_PHRASE):
            database.run(statement, **batch.tables)
            database.run(_PICK)
    picked = [_Picked(*row) for row in database.run(_PICKED)]
    in_context = _in_context(run, picked)
    return [tuple(in_context[number]) for number in range(len(sought))]


def _in_context(run: Run, picked: Sequence[_Picked]) -> Mapping[int, list[Example]]:
    """Return the examples of each entry in order, read from the texts of the run."""
    by_row: dict[int, dict[_Picked, Example | None]] = defaultdict(dict)
    for occurrence in picked:
        by_row[occurrence.row][occurrence] = None
    rows = pa.array(sorted(by_row), pa.int64())
    for texts in run.tables("texts"):
        for text in texts.filter(pc.is_in(texts["row"], rows)).select(["id", "row", "document"]).to_pylist():
            fields = dict(fields_of(text["document"], text["row"]))
            for occurrence in by_row[text["row"]]:
                by_row[text["row"]][occurrence] = _example(occurrence, text["id"], fields.get(occurrence.field))
    result: dict[int, list[Example]] = defaultdict(list)
    for occurrence in dict.fromkeys(picked):
        example = by_row[occurrence.row][occurrence]
        if example is not None:
            result[occurrence.number].append(example)
    return result


def _example(occurrence: _Picked, id: Any, text: str | None) -> Example:
    start, end = max(occurrence.start, 0), max(occurrence.end, 0)
    if text is None:
        return Example(str(id), occurrence.row, "", occurrence.word, "", occurrence.score)
    first, last = boundary(text, start - _CONTEXT), max(end, boundary(text, end + _CONTEXT))
    return Example(
        str(id),
        occurrence.row,
        before=text[first:start],
        text=text[start:end],
        after=text[end:last],
        score=occurrence.score,
        cut_before=first > 0,
        cut_after=last < len(text),
    )


# Strict, so that the lists of a model that answers at random are empty: at 5 %, 3 of 24 had words.
FALSE_DISCOVERY_RATE = 0.01
Columns = dict[str, Any]

# Phrases with the totals of their words in the texts without the phrase, in columns that begin with first_ and second_.
# Fewer than two such texts have no variance to test against.
_ELSEWHERE = ", ".join(
    f"{word}.{name} - own.{word}_{name} AS {word}_{name}"
    for word in ("first", "second")
    for name in ("effect", "effect_squares", "relative", "relative_squares")
)

_LISTS_PHRASE = f"""
CREATE TABLE phrase AS
SELECT own.* EXCLUDE ({", ".join(OWN)}), first.n - own.n AS first_n, second.n - own.n AS second_n, {_ELSEWHERE}
FROM phrase_total AS own JOIN word_total AS first USING (response, word)
JOIN word_total AS second ON second.response = own.response AND second.word = own.next_word
WHERE first.n - own.n >= 2 AND second.n - own.n >= 2
"""

# Columns of the texts of a side begin with in_, those of all other texts that are compared with out_. Fewer than two
# others have no variance to test against.
_CONTRAST = """
CREATE OR REPLACE TABLE contrast AS
WITH chosen AS (
    SELECT * EXCLUDE (contrast) FROM contrast_total
    WHERE contrast = $contrast AND list_contains($sides, side) AND n >= $min_texts
), others AS (
    SELECT chosen.side, response, word, sum(COLUMNS(rest.* EXCLUDE (contrast, response, word, side)))
    FROM contrast_total AS rest JOIN chosen USING (response, word)
    WHERE rest.contrast = $contrast AND rest.side <> chosen.side GROUP BY chosen.side, response, word
), texts AS (
    SELECT chosen.side, response, count(*) FILTER ({side}::INTEGER = chosen.side)::DOUBLE AS in_texts,
        count(*) FILTER ({side}::INTEGER <> chosen.side)::DOUBLE AS out_texts
    FROM explained, (SELECT DISTINCT side FROM chosen) AS chosen GROUP BY chosen.side, response
)
SELECT row_number() OVER (ORDER BY response, side, word) - 1 AS id,
    dense_rank() OVER (ORDER BY response, side)::DOUBLE AS list, side, response, word, in_texts, out_texts,
    COLUMNS(chosen.* EXCLUDE (response, word, side)) AS 'in_\\0',
    coalesce(COLUMNS(others.* EXCLUDE (response, word, side)), 0) AS 'out_\\0'
FROM chosen LEFT JOIN others USING (response, word, side) JOIN texts USING (response, side)
WHERE coalesce(others.n, 0) >= $min_others AND out_texts >= 2
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a list without its examples, and the occurrences to take them from."""

    kind: type[WordEffect] | type[PhraseEffect] | type[PushDifference] | type[GroupDifference]
    values: Mapping[str, Any]
    sought: Sought

    def row(self, examples: tuple[Example, ...]) -> Any:
        """Return the row with its examples."""
        return self.kind(**self.values, examples=examples)


def word_list(database: Database, top: int) -> tuple[list[Entry], Family]:
    """Return the words that push towards and away from each response, and the number of tests."""
    totals = _numbers(database, "word_total")
    effect = _mean(totals, "effect")
    tested = _Tested.of(passing(effect, _mean(totals, "relative")))
    listed = tested.largest(effect.value, _directed(totals, effect), top)
    columns = _effects(totals, effect) | tested.columns
    return [
        Entry(
            WordEffect,
            {"response": response, "direction": _direction(row), "word": word, **row},
            Sought(response, word, sign=_sign(row["effect"]), effect=row["effect"]),
        )
        for (response, word), row in _rows(database, "word_total", "response, word", totals, columns, listed)
    ], tested.family("words")


def phrase_list(database: Database, top: int) -> tuple[list[Entry], Family]:
    """Return the phrases whose effect differs from the sum of the effects of their words, and the number of tests."""
    database.run(_LISTS_PHRASE)
    totals = _numbers(database, "phrase")
    effect, relative = _mean(totals, "effect"), _mean(totals, "relative")
    expected, expected_relative = (
        _mean(totals, name, "first_").plus(_mean(totals, name, "second_")) for name in ("effect", "relative")
    )
    difference = effect - expected
    tested = _Tested.of(
        np.maximum(passing(effect, relative), passing(difference, relative - expected_relative)),
    )
    listed = tested.largest(difference.value, _directed(totals, effect), top)
    columns = (
        _effects(totals, effect) | {"expected": expected.value} | _interval(difference, "difference_") | tested.columns
    )
    names = "response, word, next_word"
    return [
        Entry(
            PhraseEffect,
            {"response": response, "direction": _direction(row), "phrase": f"{word} {next_word}", **row},
            Sought(response, word, next_word, sign=_sign(row["effect"]), effect=row["effect"]),
        )
        for (response, word, next_word), row in _rows(database, "phrase", names, totals, columns, listed)
    ], tested.family("phrases")


def push_list(database: Database, contrast: str, sign: int, min_texts: int, top: int) -> tuple[list[Entry], Family]:
    """Return the words whose push is larger (`sign` 1) or smaller (-1) in the texts of a set than in the others.

    `contrast` is the name of the set in `CONTRASTS`. A word is tested if at least `min_texts` texts of the set have it.
    """
    totals = _contrasted(database, contrast, [1], min_texts, 0)
    difference, relative = (
        _mean(totals, name, "in_", "texts") - _mean(totals, name, "out_", "texts") for name in ("push", "relative_push")
    )
    tested = _Tested.of(passing(difference, relative, sign=sign))
    listed = tested.largest(difference.value, totals["list"], top)
    columns = _compared(totals, difference) | tested.columns
    columns |= {"share": totals["in_n"] / totals["in_texts"], "share_others": totals["out_n"] / totals["out_texts"]}
    return [
        Entry(
            PushDifference,
            {"prediction": response, "word": word, **row},
            Sought(response, word, contrast=contrast, side=1, sign=sign, effect=row["effect"]),
        )
        for (response, word), row in _rows(database, "contrast", "response, word", totals, columns, listed)
    ], tested.family(contrast)


def group_list(
    database: Database, groups: Sequence[str], n_sides: int, min_texts: int, top: int
) -> tuple[list[Entry], Family]:
    """Return the words whose effect in the texts of a group differs from that in all other groups.

    The first `n_sides` of the groups are compared with all others. At least `min_texts` texts of the group, and as many
    others, must have the word.
    """
    totals = _contrasted(database, "groups", range(1, n_sides + 1), min_texts, min_texts)
    difference, relative = (_mean(totals, name, "in_") - _mean(totals, name, "out_") for name in ("effect", "relative"))
    tested = _Tested.of(passing(difference, relative))
    listed = tested.largest(difference.value, totals["list"], top)
    columns = _compared(totals, difference) | tested.columns
    return [
        Entry(
            GroupDifference,
            {"response": response, "group": groups[side - 1], "word": word, **row},
            Sought(response, word, contrast="groups", side=side, sign=_sign(row["difference"]), effect=row["effect"]),
        )
        for (response, side, word), row in _rows(database, "contrast", "response, side, word", totals, columns, listed)
    ], tested.family("groups")


@dataclass(frozen=True, slots=True)
class _Tested:
    """The p-values and q-values `(m,)` of all words, and which of them pass and may be listed."""

    p: Floats
    q: Floats
    found: Bools

    @classmethod
    def of(cls, p: Floats) -> "_Tested":
        q = q_values(p)
        return cls(p, q, q <= FALSE_DISCOVERY_RATE)

    @property
    def columns(self) -> Columns:
        return {"p_value": self.p, "q_value": self.q}

    def family(self, table: str) -> Family:
        return Family(table, len(self.p), int(self.found.sum()))

    def largest(self, size: Floats, lists: Floats, top: int) -> Ints:
        """Return the indices of the entries that pass, the `top` of largest absolute size of each list in order."""
        result = np.flatnonzero(self.found)
        return result[_first_in_groups(lists[result], np.abs(size[result]), top)]


def _first_in_groups(groups: Floats, size: Floats, limit: int) -> Ints:
    """Return the indices of the entries of largest size, at most `limit` of each group, by group and then by size.

    Of entries of equal size, the first comes first.
    """
    order = np.lexsort((np.arange(len(size)), -size, groups))
    _, starts, counts = np.unique(groups[order], return_index=True, return_counts=True)
    place = np.arange(len(order)) - np.repeat(starts, counts)
    return order[place < limit]


def _contrasted(database: Database, contrast: str, sides: Sequence[int], min_texts: int, min_others: int) -> Columns:
    values = {"contrast": contrast, "sides": list(sides), "min_texts": min_texts, "min_others": min_others}
    database.run(_CONTRAST.format(side=CONTRASTS[contrast]), values)
    return _numbers(database, "contrast")


def _numbers(database: Database, table: str) -> Columns:
    """Return the numeric columns of a table by name, in the order of its ids."""
    return database.arrays(
        f"SELECT COLUMNS(lambda c: c NOT IN ('response', 'word', 'next_word')) FROM {table} ORDER BY id"
    )


def _mean(totals: Columns, name: str, prefix: str = "", n: str = "n") -> Mean:
    return Mean.of(totals[f"{prefix}{n}"], totals[f"{prefix}{name}"], totals[f"{prefix}{name}_squares"])


def _directed(totals: Columns, effect: Mean) -> Floats:
    """Return a number for each response and direction, "towards" before "away"."""
    return np.asarray(2.0 * totals["response_id"] + (effect.value < 0))


def _effects(totals: Columns, effect: Mean) -> Columns:
    low, high = effect.interval()
    share = np.where(effect.value < 0, totals["bottom"], totals["top"]) / totals["n"]
    return {
        "n_texts": totals["n"].astype(int), "n_occurrences": totals["occurrences"].astype(int),
        "effect": effect.value, "low": low, "high": high, "share_top": share,
    }  # fmt: skip


def _compared(totals: Columns, difference: Mean) -> Columns:
    with np.errstate(invalid="ignore"):
        effects = {
            "effect": totals["in_effect"] / totals["in_n"],
            "effect_others": totals["out_effect"] / totals["out_n"],
        }
    counts = {"n_texts": totals["in_n"].astype(int), "n_others": totals["out_n"].astype(int)}
    return counts | effects | _interval(difference, "")


def _interval(difference: Mean, prefix: str) -> Columns:
    low, high = difference.interval()
    return {"difference": difference.value, f"{prefix}low": low, f"{prefix}high": high}


def _rows(
    database: Database, table: str, names: str, totals: Columns, columns: Columns, listed: Ints
) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Return the names of the listed entries, and their values by column."""
    ids = totals["id"][listed].tolist()
    result = database.run(f"SELECT id, {names} FROM {table} WHERE id IN (SELECT unnest($ids))", {"ids": ids})
    by_id = {number: named for number, *named in result}
    values = {name: column[listed].tolist() for name, column in columns.items()}
    return [(tuple(by_id[id]), {name: column[i] for name, column in values.items()}) for i, id in enumerate(ids)]


def _direction(row: Mapping[str, Any]) -> str:
    return "away" if row["effect"] < 0 else "towards"


def _sign(value: float) -> int:
    return -1 if value < 0 else 1
