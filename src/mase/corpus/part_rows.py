"""Check that the rows of a part can be those of a run: values in range, each row in its place and there once."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mase.arrays import Bools, Ints
from mase.attribution.response import EFFECTS, error_of
from mase.corpus.columns import TOTAL_ERRORS
from mase.errors import DataError

__all__ = ["check_rows"]

_HALF_PRECISION = 1e-2  # by so much may a probability be outside of [0, 1]


def check_rows(table: str, rows: pa.Table, slice_: range, ids: pa.ChunkedArray, place: str) -> None:
    """Check the rows of a table for the texts with the row numbers `slice_` and with these ids.

    Raises
    ------
    DataError
        If they cannot be those of a run. The message names `place`, what it has and what was expected.
    """
    problem = next(_problems(table, rows, slice_, ids), None)
    if problem is not None:
        raise DataError(f"{place} {problem}")


def _problems(table: str, rows: pa.Table, slice_: range, ids: pa.ChunkedArray) -> Iterator[str]:
    number = rows.column("row")
    if number.null_count or rows.column("id").null_count:
        yield "has a row without 'id' or 'row', expected both in each"
    numbers = number.to_numpy()
    if len(numbers) and not (slice_.start <= numbers.min() and numbers.max() < slice_.stop):
        yield f"has row {_outside(numbers, slice_)}, expected rows {slice_.start} to {slice_.stop - 1}"
    if np.any(np.diff(numbers) < 0):
        yield "has rows out of order, expected the order of the input"
    if table in ("texts", "timings") and len(numbers) != (len(np.unique(numbers))):
        yield "has a row twice, expected each text once"
    if table == "texts" and len(numbers) != len(slice_):
        yield f"has {len(numbers):,} rows, expected {len(slice_):,}"
    if not rows.column("id").equals(pc.take(ids, pa.array(numbers - slice_.start))):
        yield "has an 'id' that is not that of its row in the texts"
    yield from _CHECKS[table](rows)


def _outside(numbers: Ints, slice_: range) -> int:
    return int(numbers[(numbers < slice_.start) | (numbers >= slice_.stop)][0])


def _texts(rows: pa.Table) -> Iterator[str]:
    explained = rows.filter(pc.is_null(rows.column("error")))
    yield from _ranges(explained, {"n_queries": (0, 2**53)})
    classes = explained.column("probability").null_count < len(explained)  # a model of values has no probabilities
    yield from _ranges(explained, {"probability": (-_HALF_PRECISION, 1 + _HALF_PRECISION)}, optional=not classes)
    yield from _ranges(rows, {"split_half": (-1 - 1e-9, 1 + 1e-9)}, optional=True)
    if explained.column("prediction").null_count:
        yield "has a text with neither 'prediction' nor 'error', expected one of them"


def _responses(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"value": (-np.inf, np.inf), "intercept": (-np.inf, np.inf)})
    yield from _ranges(rows, dict.fromkeys(("r2", "r2_held_out"), (-np.inf, 1 + 1e-9)), optional=True)
    yield from _ranges(rows, {"split_half": (-1 - 1e-9, 1 + 1e-9)}, optional=True)
    for name in ("response", "link"):
        if rows.column(name).null_count:
            yield f"has a row without {name!r}, expected a name"
    codes = _codes(rows.column("response"))
    if len(np.unique(np.stack([rows.column("row").to_numpy(), codes]), axis=1).T) != len(rows):
        yield "has a response of a text twice, expected each once"


def _units(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"score": (-np.inf, np.inf)})
    errors = ("standard_error", *map(error_of, EFFECTS), *TOTAL_ERRORS)
    yield from _ranges(rows, dict.fromkeys(errors, (0, np.inf)), optional=True)
    yield from _ranges(rows, dict.fromkeys(EFFECTS, (-np.inf, np.inf)), optional=True)
    yield from _ranges(rows, {"position": (0, 2**31), "start": (0, 2**31), "end": (0, 2**31), "rank": (1, 2**31)})
    for name in ("response", "field", "text"):
        if rows.column(name).null_count:
            yield f"has a row without {name!r}, expected a string"
    yield from _order(rows)


def _order(rows: pa.Table) -> Iterator[str]:
    """Yield what is wrong with the order of units: those of a text and response stand together, in reading order."""
    number, position, start, end = (rows.column(name).to_numpy() for name in ("row", "position", "start", "end"))
    response, field = _codes(rows.column("response")), _codes(rows.column("field"))
    begins = _begins(number, response)
    first = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    if np.any(position != np.arange(len(rows)) - first):
        yield "has units whose 'position' is not 0, 1, 2, ..., expected reading order"
    in_field = _begins(number, response, field)
    if np.any(end <= start) or np.any(start[1:][~in_field[1:]] < end[:-1][~in_field[1:]]):
        yield "has units that are empty or overlap, expected spans in reading order"
    blocks = np.stack([number, response, field], axis=1)[in_field]
    if len(np.unique(blocks, axis=0)) != len(blocks):
        yield "has the units of a text, response and field in several places, expected them together"


def _begins(*columns: Ints) -> Bools:
    """Return in which rows a value differs from the row before."""
    changed = np.ones(len(columns[0]), dtype=np.bool_)
    changed[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return changed


def _timings(rows: pa.Table) -> Iterator[str]:
    yield from _ranges(rows, {"seconds": (0, np.inf)})


def _ranges(rows: pa.Table, ranges: Mapping[str, tuple[float, float]], *, optional: bool = False) -> Iterator[str]:
    """Yield the columns with a number that is missing, not finite or out of its range (low, high)."""
    for name, (low, high) in ranges.items():
        column = rows.column(name)
        if column.null_count and not optional:
            yield f"has a row without {name!r}, expected a number"
        values = column.drop_null().to_numpy()
        wrong = values[~(np.isfinite(values) & (values >= low) & (values <= high))]
        if len(wrong):
            yield f"has {name!r} {wrong[0]}, expected a finite number from {low:g} to {high:g}"


def _codes(column: pa.ChunkedArray) -> Ints:
    """Return a number for each string of a column, equal where the strings are equal."""
    chunks = column.dictionary_encode().unify_dictionaries().chunks
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate([np.empty(0, np.int64), *codes]).astype(np.int64)


_CHECKS: dict[str, Callable[[pa.Table], Iterator[str]]] = {
    "texts": _texts,
    "responses": _responses,
    "units": _units,
    "timings": _timings,
}
