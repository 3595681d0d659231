"""Examples of words and phrases in their texts: the strongest occurrence, a typical one, and the weakest."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mase.characters import boundary
from mase.corpus.database import Database
from mase.corpus.documents import fields_of
from mase.corpus.opened import Run
from mase.summary.batches import batches
from mase.summary.effects import Example
from mase.summary.totals import CONTRASTS, place

__all__ = ["Sought", "examples"]

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
_PHRASE = _OCCURRENCES.format(
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
    """Return the examples of each entry: at most three, since one occurrence may be the strongest and the weakest.

    Raises
    ------
    DataError
        If a file of the run cannot be read, or holds a document that is not valid.
    """
    if not sought:
        return []
    database.run(_TABLES)
    columns = zip(*(astuple(entry) for entry in sought), strict=True)
    names = ("response", "word", "next_word", "contrast", "side", "sign", "effect")
    table = pa.table({"number": range(len(sought)), **dict(zip(names, columns, strict=True))})
    database.run("INSERT INTO sought SELECT * FROM listed", listed=table)
    for batch in batches(run):
        place(database, batch)
        for statement in (_WORD, _PHRASE):
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
    found: dict[int, list[Example]] = defaultdict(list)
    for occurrence in dict.fromkeys(picked):
        example = by_row[occurrence.row][occurrence]
        if example is not None:
            found[occurrence.number].append(example)
    return found


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
