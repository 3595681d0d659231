"""Labelled texts in any table: CSV, TSV, JSON Lines or Parquet."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mase.datasets.formats import TableRow, read_rows
from mase.errors import DataError
from mase.registry import unknown

_LONGEST_INDEX = 10  # digits: longer numbers are no index of a class

__all__ = ["Labelled", "LabelledText", "class_index", "iter_labelled", "read_labelled"]


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One row of a table: its number, from 1 on and without the heading, its text, and its label (None without labels).

    `error` says why the row has no text, or cannot be read; `text` is then empty.
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
    """Return the texts and labels of a table, all at once; parameters and errors are those of `iter_labelled`.

    Raises
    ------
    DataError
        Also if it is no regular file: what comes through a pipe can be read only once, and its checksum is wanted too.
    """
    if _is_other(path):
        raise DataError(f"{os.fspath(path)!r} is a folder, a pipe or a device, expected a file")
    found = iter_labelled(
        path, text_column=text_column, label_column=label_column, where=where, labels_optional=labels_optional
    )
    rows = tuple(found)
    with Path(path).open("rb") as file:
        return Labelled(os.fspath(path), rows, hashlib.file_digest(file, "sha256").hexdigest())


def _is_other(path: str | os.PathLike[str]) -> bool:
    """Return whether there is such a path, but no regular file; what cannot be a path is told when it is opened."""
    try:
        return Path(path).exists() and not Path(path).is_file()
    except (OSError, ValueError):
        return False


def iter_labelled(
    path: str | os.PathLike[str],
    *,
    text_column: str = "text",
    label_column: str | None = "label",
    where: Mapping[str, str] | None = None,
    labels_optional: bool = False,
) -> Iterator[LabelledText]:
    """Yield the texts and labels of a table, row by row; a row that cannot be used carries its error.

    Such a row is not JSON, has another number of fields than the heading, lacks a column, or its text is no string
    (null).

    Parameters
    ----------
    path
        A file that ends in ``.csv`` (UTF-8, with a heading, whose fields commas, semicolons or tabs separate), ``.tsv``,
        ``.jsonl``, ``.ndjson`` (one object per line), ``.parquet`` or ``.pq``. All but Parquet may be packed, as
        ``.csv.gz``, ``.csv.bz2`` or ``.csv.xz``.
    text_column, label_column
        Names of the columns; None for a table without labels.
    where
        Values that columns must have, compared as strings, for example ``{"split": "test"}``; other rows are left out,
        and keep their number.
    labels_optional
        Whether a row may lack the column of labels.

    Raises
    ------
    DataError
        If the file cannot be read, or its quotes are broken; after its last row, if no row can be used.
    MissingDependencyError
        If it is Parquet and pyarrow is not installed.
    """
    columns = _Columns(text_column, label_column, dict(where or {}), labels_optional)
    first, usable = None, False
    for number, row in enumerate(read_rows(Path(path), columns.asked), 1):
        found = columns.read(number, row)
        if found is not None:
            first, usable = first or found, usable or found.error is None
            yield found
    if first is None:
        conditions = f" where {dict(columns.where)}" if columns.where else ""
        raise DataError(f"{os.fspath(path)!r} has no row{conditions}, expected at least one text")
    if not usable:
        raise DataError(f"{os.fspath(path)!r} has no row that can be used; row {first.row}: {first.error}")


@dataclass(frozen=True, slots=True)
class _Columns:
    """What is taken from each row, and the values that a row must have."""

    text: str
    label: str | None
    where: Mapping[str, str]
    labels_optional: bool

    @property
    def needed(self) -> tuple[str, ...]:
        """What every row must have."""
        return (self.text, *(() if self.label is None or self.labels_optional else (self.label,)), *self.where)

    @property
    def asked(self) -> tuple[str, ...]:
        return self.needed if self.label is None else (*self.needed, self.label)

    def read(self, number: int, row: TableRow) -> LabelledText | None:
        """Return a row's text and label, or its error; None if it has another value than it must have."""
        if isinstance(row, DataError):
            return LabelledText(number, "", None, row)
        missing = next((column for column in self.needed if column not in row), None)
        if missing is not None:
            return LabelledText(number, "", None, self._missing(missing, row))
        if any(str(row[column]) != value for column, value in self.where.items()):
            return None
        text, label = row[self.text], None if self.label is None else row.get(self.label)
        if not isinstance(text, str):
            error = DataError(f"{self.text!r} is of type {type(text).__name__}, expected a string")
            return LabelledText(number, "", None, error)
        return LabelledText(number, text, None if label is None else str(label))

    def _missing(self, column: str, row: Mapping[str, object]) -> DataError:
        remedies = {
            self.text: "; name that of the texts with text_column",
            self.label: "; name that of the labels with label_column",
        }
        known = ", ".join(map(repr, row))
        return DataError(f"no column {column!r}, expected one of: {known}{remedies.get(column, '')}")


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
    if label.isdecimal() and len(label) < _LONGEST_INDEX and int(label) < len(classes):
        return int(label)
    raise unknown("label", label, list(classes))
