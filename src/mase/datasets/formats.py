"""Read tables row by row: CSV, TSV, JSON Lines or Parquet, depending on the suffix of the file."""

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from mase.datasets.foreign import check_beginning, check_ending
from mase.datasets.table import require_pyarrow
from mase.datasets.unpacked import LONGEST_LINE, format_of, lines, open_unpacked
from mase.errors import DataError

__all__ = ["TABLE_SUFFIXES", "TableRow", "is_table", "read_rows"]

# Separators by suffix. The heading decides; if it does not, the first separator is used.
_SEPARATORS = {".csv": ",;\t", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*_SEPARATORS, *_LINES, *_PARQUET)
# Rows of a Parquet file that are read at a time; long texts of more rows would fill the memory.
_AT_A_TIME = 1_024

# The cells of a row by column, or the error if the row cannot be read.
TableRow = Mapping[str, Any] | DataError


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the suffix of a table.

    Examples
    --------
    >>> is_table("reviews.CSV"), is_table("reviews.csv.gz"), is_table("reviews.txt")
    (True, True, False)
    """
    return format_of(Path(path)) in TABLE_SUFFIXES


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[TableRow]:
    """Yield the rows of a table, with at least these columns if it has them. For an invalid row, yield its error."""
    kind = format_of(path)
    try:
        if kind in _PARQUET:
            yield from _parquet(path, columns)
            return
        check_ending(path)
        if kind not in TABLE_SUFFIXES:
            known = ", ".join(TABLE_SUFFIXES)
            raise DataError(f"{os.fspath(path)!r} has an unknown suffix, expected one of {known}")
        with open_unpacked(path) as file:
            yield from _json_lines(file, path) if kind in _LINES else _separated(file, path, _SEPARATORS[kind])
    except DataError:
        raise
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"cannot read {os.fspath(path)!r:.300}: {reason or error}") from error


def _separated(file: BinaryIO, path: Path, separators: str) -> Iterator[TableRow]:
    text = _decoded(file, repr(os.fspath(path)))
    first = next(text, "")
    separator = max(separators, key=lambda mark: len(_next(csv.reader([first], delimiter=mark)) or []))
    reader = csv.reader(chain([first], text), delimiter=separator, strict=True)
    try:
        heading = _next(reader) or []
        _check_names(repr(os.fspath(path)), heading)
        while (cells := _next(reader)) is not None:
            if not cells:  # skip blank lines
                continue
            if len(cells) == len(heading):
                yield dict(zip(heading, cells, strict=True))
            else:
                yield DataError(
                    f"another number of fields than the heading, got {len(cells)}, expected {len(heading)}; "
                    f"quote fields that hold a {separator!r}"
                )
    except csv.Error as error:
        raise DataError(
            f"{os.fspath(path)!r} cannot be read at line {reader.line_num}: {error}; close the quotes, and double "
            "those within a field"
        ) from error


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with any line ends, without a byte order mark."""
    start = 0
    for raw in lines(file, name):
        if start == 0:
            check_beginning(name, raw)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is not UTF-8 at byte {start + error.start}; convert it") from error
        text = text.removeprefix("\ufeff") if start == 0 else text
        yield from StringIO(text, newline="") if "\r" in text else (text,)
        start += len(raw)


def _check_names(place: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{place} has the column {repeated!r} twice, expected unique names")


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the cells of the next row, or None after the last one; fields may have any length.

    The size limit of the csv module is global. It is restored at once, because other tables may be open.
    """
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _json_lines(file: BinaryIO, path: Path) -> Iterator[TableRow]:
    for number, line in enumerate(lines(file, repr(os.fspath(path))), 1):
        if number == 1:
            check_beginning(repr(os.fspath(path)), line)
        if line.strip():
            yield _object(line, number)


def _object(line: bytes, number: int) -> TableRow:
    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=lambda pairs: _once(f"line {number}", pairs))
    except DataError as error:
        return error
    except (ValueError, RecursionError) as error:
        return DataError(f"line {number} is not JSON ({error}), expected an object")
    return row if isinstance(row, dict) else DataError(f"line {number} is a {type(row).__name__}, expected an object")


def _once(place: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        _check_names(place, [name for name, _ in pairs])
    return row


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[TableRow]:
    pa, parquet = require_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            present = file.schema_arrow.names
            _check_names(repr(os.fspath(path)), present)
            picked = [column for column in dict.fromkeys(columns) if column in present]
            if len(picked) == len(set(columns)):
                for batch in file.iter_batches(_AT_A_TIME, columns=picked):
                    try:
                        yield from batch.to_pylist()
                    except OverflowError:  # Python has the years 1 to 9999 only
                        yield from map(_parquet_row, (batch.slice(row, 1) for row in range(len(batch))))
            else:  # the error about a missing column lists the present ones, so their names suffice
                yield from (
                    {**dict.fromkeys(present), **row}
                    for batch in file.iter_batches(_AT_A_TIME, columns=picked)
                    for row in batch.to_pylist()
                )
    except pa.ArrowException as error:
        raise DataError(f"{os.fspath(path)!r} is not a Parquet table: {error}") from error


def _parquet_row(batch: Any) -> TableRow:
    try:
        return cast(TableRow, batch.to_pylist()[0])
    except OverflowError as error:
        return DataError(f"a date or a time that cannot be read ({error}), expected the years 1 to 9999")
