"""The units of a part of a run as columns, from which the words of one text are taken."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution import Word

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FieldText", "Units", "Words"]

_MOST_SOURCES, _LARGEST_ERROR = 20, 1e300
# Starts, ends, scores and standard errors, each `(w,)`.
Words = tuple[Ints, Ints, Floats, Floats]
# Name and text of a field of a document.
FieldText = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Units:
    """The units of a part as columns `(u,)`, sorted by text.

    `response` and `field` number the names in `responses` and `fields`.
    """

    rows: Ints
    responses: list[str | None]
    response: Ints
    fields: list[str | None]
    field: Ints
    starts: Ints
    ends: Ints
    scores: Floats
    errors: Floats
    cited: Bools

    @classmethod
    def of(cls, table: "pa.Table") -> "Units":
        """Return the columns of the table of units of a part."""
        order = np.argsort(_numbers(table, "row", -1), kind="stable")
        responses, response = _coded(table, "response")
        fields, field = _coded(table, "field")
        return cls(
            rows=_numbers(table, "row", -1)[order],
            responses=responses,
            response=response[order],
            fields=fields,
            field=field[order],
            starts=np.maximum(_numbers(table, "start", 0), 0)[order],
            ends=_numbers(table, "end", 0)[order],
            scores=_floats(table, "score")[order],
            errors=_interval_errors(table)[order],
            cited=table.column("cited").fill_null(False).to_numpy()[order],
        )

    def of_text(self, row: int, response: str | None, fields: Sequence[FieldText]) -> Words:
        """Return the words of one text and response, with places in its fields joined by line ends."""
        first, last = np.searchsorted(self.rows, [row, row + 1])
        here = slice(int(first), int(last))
        offsets = dict(zip((name for name, _ in fields), _offsets(fields), strict=True))
        code = next((index for index, name in enumerate(self.responses) if name == response), -1)
        starts, ends = self.starts[here], self.ends[here]
        of_response = self.response[here] == code
        found: list[Words] = []
        for index, name in enumerate(self.fields):
            if name in offsets:
                chosen = of_response & (self.field[here] == index)
                start, size = offsets[name]
                found.append(
                    (
                        start + np.minimum(starts[chosen], size),
                        start + np.minimum(ends[chosen], size),
                        self.scores[here][chosen],
                        self.errors[here][chosen],
                    )
                )
        return _joined(found)

    def sources(self, row: int, fields: Sequence[FieldText]) -> list[Word]:
        """Return the units of one text that are sources of its answer, or of a part of it, the strongest first.

        There are at most `_MOST_SOURCES`, whatever a run of somebody else says.
        """
        first, last = np.searchsorted(self.rows, [row, row + 1])
        places = first + np.flatnonzero(self.cited[first:last])
        texts, found = dict(fields), dict[tuple[str, int, int], Word]()
        for place in places[np.argsort(-self.scores[places], kind="stable")].tolist():
            name, start, end = self.fields[self.field[place]] or "", int(self.starts[place]), int(self.ends[place])
            error = None if isnan(self.errors[place]) else min(float(self.errors[place]), _LARGEST_ERROR)
            word = Word(texts.get(name, "")[start:end], start, end, name, float(self.scores[place]), error)
            found.setdefault((name, start, end), word)
            if len(found) == _MOST_SOURCES:
                break
        return list(found.values())

    def n_fields(self, row: int) -> int:
        """Return the number of fields of one text that have units."""
        first, last = np.searchsorted(self.rows, [row, row + 1])
        return len(np.unique(self.field[first:last]))


def _offsets(fields: Sequence[FieldText]) -> Iterator[tuple[int, int]]:
    """Yield where each field starts, and its length."""
    start = 0
    for _, text in fields:
        yield start, len(text)
        start += len(text) + 1


def _joined(found: Sequence[Words]) -> Words:
    if len(found) == 1:
        return found[0]
    empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    starts, ends, scores, errors = zip(empty, *found, strict=True)
    return np.concatenate(starts), np.concatenate(ends), np.concatenate(scores), np.concatenate(errors)


def _numbers(table: "pa.Table", name: str, missing: int) -> Ints:
    return np.asarray(table.column(name).fill_null(missing).to_numpy(), dtype=np.int64)


def _floats(table: "pa.Table", name: str) -> Floats:
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def _interval_errors(table: "pa.Table") -> Floats:
    """Return the errors of which intervals are shown: total errors, or standard errors in runs without these."""
    total = _floats(table, "total_error")
    return np.where(np.isnan(total), _floats(table, "standard_error"), total)


def _coded(table: "pa.Table", name: str) -> tuple[list[str | None], Ints]:
    """Return the different values of a column of strings, and the number of each row's value (-1: missing)."""
    coded = table.column(name).combine_chunks().dictionary_encode()
    return coded.dictionary.to_pylist(), np.asarray(
        coded.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64
    )
