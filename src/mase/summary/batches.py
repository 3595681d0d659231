"""The tables of a run in batches of a bounded size, with words as numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mase.corpus.database import joined
from mase.corpus.opened import Run
from mase.corpus.words import AFTER, BEFORE, bare

__all__ = ["Batch", "batches"]

_UNITS = ("row", "response", "position", "field", "start", "end", "text", "score", "rank")


@dataclass(frozen=True, slots=True)
class Batch:
    """The units of whole texts. A block is a text and a response.

    Attributes
    ----------
    units
        `block` and `word` (numbers), `score`, `rank`, the place of the unit (`field`, `start`, `end`), and for the unit
        that follows it in the same field `next_word`, `next_score`, `next_rank`, `next_end`: NULL if none does, or
        if there is punctuation between the two.
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
        adjacent &= ~np.r_[ends[:-1] | opens[1:], True][: len(row)]
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
    """Yield the units of a run in order.

    Raises
    ------
    DataError
        If a file of the run cannot be read or is not such a table.
    """
    for units in joined(run.tables("units")):
        yield Batch.of(units)
