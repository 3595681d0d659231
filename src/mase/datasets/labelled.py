"""Labelled texts in any table: CSV, TSV, JSON Lines or Parquet."""

import csv
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase.datasets.table import require_pyarrow
from mase.errors import DataError
from mase.registry import unknown

__all__ = ["Labelled", "LabelledText", "class_index", "read_labelled"]

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
_LONGEST_FIELD = 1 << 30


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One row of a table: its number, from 1 on and without the heading, its text, and its label (None without labels).

    `error` says why the row has no text; `text` is then empty.
    """

    row: int
    text: str
    label: str | None
    error: DataError | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled texts of a file; `sha256` is that of the file."""

    path: str
    rows: tuple[LabelledText, ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.rows)


def read_labelled(
    path: str | os.PathLike[str],
    *,
    text_column: str = "text",
    label_column: str | None = "label",
    where: Mapping[str, str] | None = None,
    labels_optional: bool = False,
) -> Labelled:
    """Return the texts and labels of a table; a row whose text is no string (such as null) carries its error.

    Parameters
    ----------
    path
        A file that ends in ``.csv``, ``.tsv`` (UTF-8, with a heading), ``.jsonl``, ``.ndjson`` (one object per line),
        ``.parquet`` or ``.pq``.
    text_column, label_column
        Names of the columns; None for a table without labels.
    where
        Values that columns must have, compared as strings, for example ``{"split": "test"}``; other rows are left out, and
        keep their number.
    labels_optional
        Whether a table may lack the column of labels.

    Raises
    ------
    DataError
        If the file cannot be read, lacks a column, has no row at all, or none whose text is a string.
    MissingDependencyError
        If it is Parquet and pyarrow is not installed.
    """
    name, wanted = os.fspath(path), dict(where or {})
    columns = [text_column, *([] if label_column is None else [label_column]), *wanted]
    found = []
    for number, row in enumerate(_rows(Path(path), columns), 1):
        may_lack = {label_column} if labels_optional else set()
        missing = [column for column in columns if column not in row and column not in may_lack]
        if missing:
            raise DataError(
                f"{name!r} has no column {missing[0]!r} in row {number}, expected one of: {', '.join(map(str, row))}; "
                "name the columns with text_column and label_column"
            )
        if any(str(row[column]) != value for column, value in wanted.items()):
            continue
        label = None if label_column is None else row.get(label_column)
        text, error = _text(row[text_column], text_column)
        found.append(LabelledText(number, text, None if label is None else str(label), error))
    if not found:
        conditions = f" where {wanted}" if wanted else ""
        raise DataError(f"{name!r} has no row{conditions}, expected at least one text")
    if all(row.error is not None for row in found):
        raise DataError(f"{name!r}, row {found[0].row}: {found[0].error}, and no other row has a text")
    with Path(path).open("rb") as file:
        return Labelled(name, tuple(found), hashlib.file_digest(file, "sha256").hexdigest())


def _text(value: Any, column: str) -> tuple[str, DataError | None]:
    """Return the text in a cell, or an empty one and what is wrong with the cell."""
    if isinstance(value, str):
        return value, None
    return "", DataError(f"{column!r} is of type {type(value).__name__}, expected a string")


def class_index(label: str, classes: Sequence[str]) -> int:
    """Return which of a model's classes a label names: by its name, or by its index.

    Raises
    ------
    UnknownNameError
        If it is neither.

    Examples
    --------
    >>> class_index("pos", ("neg", "pos")), class_index("0", ("neg", "pos"))
    (1, 0)
    """
    if label in classes:
        return list(classes).index(label)
    if label.isdecimal() and int(label) < len(classes):
        return int(label)
    raise unknown("label", label, list(classes))


def _rows(path: Path, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table by column, whatever its format."""
    kind = path.suffix.lower()
    try:
        if kind in _SEPARATORS:
            yield from _separated(path, _SEPARATORS[kind])
        elif kind in _LINES:
            yield from _lines(path)
        elif kind in _PARQUET:
            yield from _parquet(path, columns)
        else:
            known = ", ".join((*_SEPARATORS, *_LINES, *_PARQUET))
            raise DataError(f"cannot tell the format of {os.fspath(path)!r} from its ending, expected one of {known}")
    except DataError:
        raise
    except UnicodeDecodeError as error:
        raise DataError(f"{os.fspath(path)!r} is not UTF-8 at byte {error.start}; convert it") from error
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error.strerror or error}") from error


def _separated(path: Path, separator: str) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file, _long_fields():
        reader = csv.DictReader(file, delimiter=separator, strict=True)
        try:
            for number, row in enumerate(reader, 1):
                if None in row or None in row.values():
                    raise DataError(
                        f"{os.fspath(path)!r}, row {number} has another number of fields than the heading, "
                        f"expected {len(reader.fieldnames or ())}; quote fields that hold a {separator!r}"
                    )
                yield row
        except csv.Error as error:
            raise DataError(f"{os.fspath(path)!r} cannot be read at line {reader.line_num}: {error}") from error


@contextmanager
def _long_fields() -> Iterator[None]:
    """Lift the limit of the csv module on the length of a field, which is that of the whole process."""
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise DataError(f"{os.fspath(path)!r}, line {number} is not JSON ({error}), expected an object") from error
            if not isinstance(row, dict):
                raise DataError(f"{os.fspath(path)!r}, line {number} is a {type(row).__name__}, expected an object")
            yield row


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    pa, parquet = require_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            present = file.schema_arrow.names
            picked = [column for column in dict.fromkeys(columns) if column in present]
            if len(picked) < len(set(columns)):
                picked = present  # the message about the missing column lists those that there are
            for batch in file.iter_batches(columns=picked):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise DataError(f"{os.fspath(path)!r} is no Parquet table: {error}") from error
