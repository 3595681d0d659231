"""Labelled texts from a table: CSV, TSV, JSON Lines or Parquet."""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mase.document import Document, Scalar
from mase.errors import DataError, MaseError
from mase.sources.files import TableRow, read_rows
from mase.sources.rows import DocumentColumns, Fields, missing_column, string_of
from mase.target import label_index

_LONGEST_INDEX = 10  # digits of a class index at most
# Regular expression of the end of a whole number that was written as a decimal. Pandas does that to a column of
# integers in which one is missing.
DECIMALS = r"\.0+$"


@dataclass(frozen=True, slots=True)
class LabelledText:
    """One row of a table: its number (from 1, without the heading), its text or document, and its label.

    The label is None if there is none: the cell is empty or null, or the row lacks the column.
    `error` is set if the row has no text or cannot be read. Then `text` is empty.
    """

    row: int
    text: str | Document
    label: str | None
    error: MaseError | None = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """The labelled texts of a file; `sha256` is the file's checksum."""

    path: str
    rows: tuple[LabelledText, ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.rows)


def read_labelled(
    path: str | os.PathLike[str],
    *,
    text_column: str | None = None,
    fields: Fields = None,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
    label_column: str | None = "label",
    where: Mapping[str, str] | None = None,
    labels_optional: bool = False,
) -> Labelled:
    """Return all texts and labels of a table; parameters and errors are those of `iter_labelled`."""
    if _is_other(path):
        raise DataError(f"{os.fspath(path)!r} is a folder, a pipe or a device, expected a file")
    rows = tuple(
        iter_labelled(
            path,
            text_column=text_column,
            fields=fields,
            fixed=fixed,
            background=background,
            label_column=label_column,
            where=where,
            labels_optional=labels_optional,
        )
    )
    with Path(path).open("rb") as file:
        return Labelled(os.fspath(path), rows, hashlib.file_digest(file, "sha256").hexdigest())


def _is_other(path: str | os.PathLike[str]) -> bool:
    """Return whether the path exists but is not a regular file. An invalid path is reported when it is opened."""
    try:
        return Path(path).exists() and not Path(path).is_file()
    except (OSError, ValueError):
        return False


def iter_labelled(
    path: str | os.PathLike[str],
    *,
    text_column: str | None = None,
    fields: Fields = None,
    fixed: Collection[str] = (),
    background: Mapping[str, Scalar] | None = None,
    label_column: str | None = "label",
    where: Mapping[str, str] | None = None,
    labels_optional: bool = False,
) -> Iterator[LabelledText]:
    """Yield the texts and labels of a table row by row; an invalid row carries its error.

    A row is invalid if it is not JSON, its number of fields differs from the heading, a column is missing, or its text
    is not a string (null).

    Parameters
    ----------
    path
        A file with the suffix ``.csv`` (UTF-8, with a heading, separated by commas, semicolons or tabs), ``.tsv``,
        ``.jsonl``, ``.ndjson`` (one object per line), ``.parquet`` or ``.pq``. All but Parquet may be compressed, as in
        ``.csv.gz``, ``.csv.bz2`` or ``.csv.xz``.
    text_column
        The column of the texts; "text" by default.
    fields, fixed, background
        The columns that make documents instead, and how they are masked; see `DocumentColumns`.
    label_column
        The column of the labels; None for a table without labels.
    where
        Required values of columns, compared as strings (see `string_of`), for example ``{"split": "test"}``; the empty
        string for null. Other rows are left out; the numbers of rows do not change.
    labels_optional
        Whether the column of labels may be missing in a row.
    """
    document = DocumentColumns.of(text_column, fields, fixed, background)
    asked = _Columns(document, label_column, dict(where or {}), labels_optional)
    first, usable = None, False
    for number, row in enumerate(read_rows(Path(path), asked.asked), 1):
        labelled = asked.read(number, row)
        if labelled is not None:
            first, usable = first or labelled, usable or labelled.error is None
            yield labelled
    if first is None:
        conditions = f" where {dict(asked.where)}" if asked.where else ""
        raise DataError(f"{os.fspath(path)!r} has no row{conditions}, expected at least one text")
    if not usable:
        raise DataError(f"{os.fspath(path)!r} has no valid row; row {first.row}: {first.error}")


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns to read from each row, and the required values."""

    document: DocumentColumns
    label: str | None
    where: Mapping[str, str]
    labels_optional: bool

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that every row must have."""
        return (
            *self.document.names,
            *(() if self.label is None or self.labels_optional else (self.label,)),
            *self.where,
        )

    @property
    def asked(self) -> tuple[str, ...]:
        return self.needed if self.label is None else (*self.needed, self.label)

    def read(self, number: int, row: TableRow) -> LabelledText | None:
        """Return a row's text and label, or its error; None if it lacks a required value."""
        if isinstance(row, DataError):
            return LabelledText(number, "", None, row)
        text = self.document.read(row)
        missing = next((column for column in self.needed if column not in row), None)
        if missing is not None:
            remedies = {self.label: "; name the column of the labels with label_column"}
            error = text if isinstance(text, DataError) and missing in self.document.names else None
            return LabelledText(number, "", None, error or missing_column(missing, row, remedies.get(missing, "")))
        if any((string_of(row[column]) or "") != value for column, value in self.where.items()):
            return None
        label = None if self.label is None else row.get(self.label)
        if isinstance(text, MaseError):
            return LabelledText(number, "", None, text)
        return LabelledText(number, text, string_of(label) or None)


def class_indices(labels: Iterable[str], classes: Sequence[str]) -> dict[str, int]:
    """Return the index of the class that each label of a column means; a label that is no class is left out.

    Labels are names of classes or, all of them, indices. So 0, 1 and 2 are the first three classes also where classes
    are called 1, 2 and 3. Labels of both kinds are understood if no class is called by a number. A whole number may be
    written as a decimal (see `spellings`).

    Examples
    --------
    >>> class_indices(["pos", "neg"], ("neg", "pos")), class_indices(["0", "1.0"], ("neg", "pos"))
    ({'pos': 1, 'neg': 0}, {'0': 0, '1.0': 1})
    >>> class_indices(["0", "1", "2"], ("1", "2", "3")), class_indices(["1", "2", "3"], ("1", "2", "3"))
    ({'0': 0, '1': 1, '2': 2}, {'1': 0, '2': 1, '3': 2})
    """
    labels = dict.fromkeys(labels)
    named, numbered = ({label: read(label, classes) for label in labels} for read in (_by_name, _by_number))
    if None in named.values() and None not in numbered.values():
        named = numbered
    elif not any(name.isdecimal() for label in classes for name in spellings(label)):
        named = {label: numbered[label] if index is None else index for label, index in named.items()}
    return {label: index for label, index in named.items() if index is not None}


def _by_name(label: str, classes: Sequence[str]) -> int | None:
    found = (label_index(classes, name) for name in spellings(label))
    return next((index for index in found if index is not None), None)


def _by_number(label: str, classes: Sequence[str]) -> int | None:
    name = spellings(label)[-1]
    is_index = name.isdecimal() and len(name) < _LONGEST_INDEX and int(name) < len(classes)
    return int(name) if is_index else None


def spellings(label: str) -> tuple[str, ...]:
    """Return a label as it is, and as a whole number if it was written as a decimal.

    Examples
    --------
    >>> spellings("1.0"), spellings("pos")
    (('1.0', '1'), ('pos',))
    """
    return tuple(dict.fromkeys((label, re.sub(DECIMALS, "", label))))
