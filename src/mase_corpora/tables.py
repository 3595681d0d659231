"""The tables of a run in the database, in batches, and the texts that count."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Self
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mase.errors import OptionError
from mase.registry import unknown
from mase.sources.labelled import DECIMALS, class_indices
from mase_corpora.database import Database, joined
from mase_corpora.read import Run
from mase_corpora.schema import AFTER, BEFORE, bare, schema

_UNITS = ("row", "response", "position", "field", "start", "end", "text", "score", "rank")


@dataclass(frozen=True, slots=True)
class Batch:
    """The units of whole texts. A block is a text and a response.

    Attributes
    ----------
    units
        `block` and `word` (numbers), `score`, `rank`, the place of the unit (`field`, `start`, `end`), and for the unit
        that follows it in the same field `next_word`, `next_score`, `next_rank`, `next_end`: NULL if none does, or
        if there is punctuation, or more than one character, between the two.
    blocks
        `block`, `row`, `response`.
    words
        `word`, `text` in lower case and NFC without punctuation around it, and `spoken`: whether it has a letter or a
        digit.
    """

    units: pa.Table
    blocks: pa.Table
    words: pa.Table

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The three tables by name."""
        return {"units": self.units, "blocks": self.blocks, "words": self.words}

    @classmethod
    def of(cls, units: pa.Table) -> Self:
        """Return the batch of rows of the table `units`; rows without a finite score are left out."""
        units = units.select(_UNITS).drop_null()
        units = units.filter(pc.is_finite(units["score"])).combine_chunks()
        row, position = (units[name].to_numpy() for name in ("row", "position"))
        response, field = (_codes(units[name])[0] for name in ("response", "field"))
        follows = (row[1:] == row[:-1]) & (response[1:] == response[:-1])
        starts = np.r_[True, ~follows][: len(row)]
        block = np.cumsum(starts) - 1
        adjacent = np.r_[follows & (field[1:] == field[:-1]) & (position[1:] == position[:-1] + 1), False][: len(row)]
        raw, values = _codes(units["text"])
        opens, ends = (pc.match_substring_regex(values, edge).to_numpy(False)[raw] for edge in (BEFORE, AFTER))
        start, end = (units[name].to_numpy() for name in ("start", "end"))
        apart = start[1:] - end[:-1] > 1  # by more than a space: there may be punctuation that is in no unit
        adjacent &= ~np.r_[ends[:-1] | opens[1:] | apart, True][: len(row)]
        number, texts = _codes(bare(values))
        word = number[raw]
        first = units.filter(pa.array(starts))
        numbers = {"block": block, "word": word, **{name: units[name] for name in ("score", "rank")}}
        following = {"next_word": word, **{f"next_{name}": units[name].to_numpy() for name in ("score", "rank", "end")}}
        return cls(
            pa.table(
                numbers
                | {name: units[name] for name in ("field", "start", "end")}
                | {name: pa.array(np.roll(values, -1), mask=~adjacent) for name, values in following.items()}
            ),
            pa.table({"block": np.arange(len(first)), "row": first["row"], "response": first["response"]}),
            pa.table(
                {
                    "word": np.arange(len(texts)),
                    "text": texts,
                    "spoken": pc.match_substring_regex(texts, r"[\p{L}\p{N}]"),
                }
            ),
        )


def _codes(
    column: pa.Array | pa.ChunkedArray,
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int32]], pa.Array]:
    """Return the numbers `(n,)` of the values of a column of n strings, and the different values."""
    encoded = (column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column).dictionary_encode()
    return encoded.indices.to_numpy(), encoded.dictionary


def batches(run: Run) -> Iterator[Batch]:
    """Yield the units of a run in order."""
    for units in joined(run.tables("units")):
        yield Batch.of(units)


_TABLES = """
CREATE TABLE text (
    row BIGINT, document UBIGINT, prediction VARCHAR, probability DOUBLE, n_queries BIGINT, split_half DOUBLE,
    failed BOOLEAN, label VARCHAR, other_label VARCHAR, grp VARCHAR
);
CREATE TABLE response (row BIGINT, response VARCHAR, r2 DOUBLE, r2_held_out DOUBLE, reliable BOOLEAN);
CREATE TABLE note (row BIGINT, code VARCHAR);
CREATE TABLE message (code VARCHAR, message VARCHAR);
CREATE TABLE failure (error VARCHAR, n BIGINT, row BIGINT, id VARCHAR, message VARCHAR);
"""

# A label that is no class of the model says nothing of the prediction, so it is kept apart from the labels.
_TEXT = """
INSERT INTO text SELECT row, CASE WHEN document IS NOT NULL THEN hash(document) END, prediction, probability,
    n_queries, split_half, error IS NOT NULL, CASE WHEN list_contains($classes::VARCHAR[], {label}) THEN {label} END,
    CASE WHEN NOT list_contains($classes::VARCHAR[], {label}) THEN nullif({label}, '') END,
    nullif(their_group, '') FROM part
"""

# The name of a class may be in another normal form of Unicode, or a whole number that was written as a decimal, as in
# `class_index`.
_LABEL = f"""
CASE WHEN list_contains($classes::VARCHAR[], their_label) THEN their_label
    WHEN list_contains($composed::VARCHAR[], nfc_normalize(their_label))
        THEN list_extract($classes::VARCHAR[], list_position($composed::VARCHAR[], nfc_normalize(their_label)))
    WHEN list_contains($classes::VARCHAR[], regexp_replace(their_label, '{DECIMALS}', ''))
        THEN regexp_replace(their_label, '{DECIMALS}', '')
    ELSE their_label END
"""

# A text has a note if it is on the text or on one of its responses.
_UNNESTED = "(SELECT row, unnest({notes}) AS note FROM part)"
_NOTES = (
    f"INSERT INTO note SELECT DISTINCT row, note.code FROM {_UNNESTED}",
    f"INSERT INTO message SELECT note.code, min(note.message) FROM {_UNNESTED} GROUP BY note.code",
)
_TEXT_NOTES, _RESPONSE_NOTES = (
    tuple(statement.format(notes=notes) for statement in _NOTES) for notes in ("notes", "response_notes")
)

_FAILURE = """
INSERT INTO failure SELECT error, count(*), min(row), arg_min(id, row), arg_min(message, row)
FROM part WHERE error IS NOT NULL GROUP BY error
"""

_RESPONSE = "INSERT INTO response SELECT row, response, r2, r2_held_out, reliable FROM part"

# A text is repeated if another one has the same document, which is not known of a run without documents. It counts
# once, and once per label or group where labels or groups are compared.
_EXPLAINED = """
CREATE TABLE explained AS
WITH named AS (
    SELECT *, hash(response, coalesce(document, hash(row))) AS same
    FROM response JOIN text USING (row) WHERE NOT failed
), numbered AS (
    SELECT *, row_number() OVER (PARTITION BY same ORDER BY row) = 1 AS is_first,
        row_number() OVER (PARTITION BY same, label ORDER BY row) = 1 AS is_first_of_label,
        row_number() OVER (PARTITION BY same, grp ORDER BY row) = 1 AS is_first_of_group
    FROM named
)
SELECT row, response, is_first,
    CASE WHEN response = prediction AND is_first_of_label THEN label <> prediction END AS wrong,
    CASE WHEN response = prediction AND is_first THEN probability < $threshold END AS low,
    CASE WHEN is_first_of_group AND grp IS NOT NULL THEN coalesce(list_position($groups, grp), 0) END AS group_number
FROM numbered ORDER BY row
"""

# The least probability above those of the lowest tenth, so that all texts with the highest of these are below it. If
# none is above, since most texts have the greatest probability, the texts with a smaller one are below.
_THRESHOLD = """
SELECT coalesce(min(probability) FILTER (probability > tenth), max(probability)) AS threshold
FROM text, (SELECT quantile_disc(probability, 0.1) AS tenth FROM text WHERE NOT failed)
WHERE NOT failed HAVING min(probability) < threshold
"""

_GROUPS = "SELECT grp, count(*) AS n FROM text WHERE NOT failed AND grp IS NOT NULL GROUP BY grp ORDER BY n DESC, grp"
_MOST_GROUPS = 20


@dataclass(frozen=True, slots=True)
class Compared:
    """Which texts are compared: the fields of this name of `Settings`."""

    low_confidence: float | None
    groups: tuple[str, ...]
    n_groups_left_out: int

    @property
    def n_sides(self) -> int:
        """The number of groups that are compared with all others; of two, only one, since the rest is the other."""
        return 1 if len(self.groups) == 2 and not self.n_groups_left_out else len(self.groups)


def check_columns(run: Run, **columns: str | None) -> None:
    """Check that the columns that the options name are kept columns of the run."""
    kept = list(run.manifest.asked.kept)
    for option, name in columns.items():
        if name is not None and not kept:
            raise OptionError(
                f"{option} is {name!r:.80}, but the run kept no columns; make it with keep=[{name!r:.80}] in Python, "
                f"or --keep {name!s:.80} on the command line"
            )
        if name is not None and name not in kept:
            raise unknown("kept column", name, kept)


def load(database: Database, run: Run, label: str | None, group: str | None, min_texts: int) -> Compared:
    """Load texts and responses of a run into the database, and return which of them are compared.

    Groups of fewer than `min_texts` texts are not compared, and at most 20 are.

    Raises
    ------
    DataError
        If a file of the run cannot be read.
    OptionError
        If no text has a class of the model as its label.
    """
    database.run(_TABLES)
    text, asked = _TEXT.format(label=_LABEL), {"their_label": label, "their_group": group}
    classes = list(run.manifest.labels)
    composed = [normalize("NFC", name) for name in classes]
    counts = Counter(composed)
    names = {"classes": classes, "composed": [name if counts[name] == 1 else None for name in composed]}
    for part in joined(_with_columns(texts, asked) for texts in run.tables("texts")):
        database.run(text, names, part=part)
        for statement in (*_TEXT_NOTES, _FAILURE):
            database.run(statement, part=part)
    for part in joined(run.tables("responses")):
        for statement in (*_RESPONSE_NOTES, _RESPONSE):
            database.run(statement, part=part)
    if label is not None:
        _check_labels(database, run, label)
    threshold = next((value for (value,) in database.run(_THRESHOLD)), None)
    sizes = database.run(_GROUPS)
    groups = [name for name, n in sizes if n >= min_texts][:_MOST_GROUPS]
    database.run(_EXPLAINED, {"threshold": threshold, "groups": groups})
    return Compared(threshold, tuple(groups), len(sizes) - len(groups))


def _check_labels(database: Database, run: Run, column: str) -> None:
    pairs = database.run("SELECT DISTINCT label, other_label FROM text")
    labels = [label or other for label, other in pairs if label or other]
    indices = class_indices(labels, run.manifest.labels)
    misread = next((label for label, _ in pairs if label and run.manifest.labels[indices[label]] != label), None)
    if misread is not None:
        raise OptionError(
            f"label_column is {column!r}, whose labels are indices, of which {misread!r} is also the name of another "
            f"class, expected names: {', '.join(run.manifest.labels)!s:.200}"
        )
    known, other = (next((pair[side] for pair in pairs if pair[side]), None) for side in (0, 1))
    if known is None and other is not None:
        raise OptionError(
            f"label_column is {column!r}, which has {other!r:.80}, expected classes of the model: "
            f"{', '.join(run.manifest.labels)!s:.200}; name the labels of the table like the classes"
        )


def _with_columns(texts: pa.Table, columns: Mapping[str, str | None]) -> pa.Table:
    """Return texts without their kept columns, but these under the names that are given; a column of None is null.

    To the database, a kept column `Prediction` or `ID` would have the name of another column.
    """
    result = texts.select(schema("texts").names)
    for name, column in columns.items():
        values = pa.nulls(len(texts), pa.string()) if column is None else texts.column(column)
        result = result.append_column(name, values)
    return result
