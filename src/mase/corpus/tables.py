"""Inputs of a corpus that can be read again and again: files, and values of Python."""

import hashlib
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from mase.corpus.items import Row
from mase.datasets.foreign import check_ending
from mase.datasets.formats import TABLE_SUFFIXES, is_table, read_rows
from mase.datasets.table import require_pyarrow
from mase.datasets.texts import read_lines
from mase.datasets.unpacked import format_of
from mase.document import Document, is_single
from mase.errors import DataError, MaseError
from mase.files import cannot_read, file_state, while_unchanged

__all__ = ["ArrowTable", "File", "Pairs", "Records", "Table", "Texts", "files_in"]

_LINES = ".txt"
_AT_A_TIME = 1_024


class Table(Protocol):
    """Rows that can be read repeatedly."""

    @property
    def has_columns(self) -> bool:
        """Whether the columns have names that the user gave."""
        ...

    def place(self, index: int) -> str:
        """Return where row `index` is, for messages."""
        ...

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield the rows with these columns, where they have them.

        Raises
        ------
        DataError
            If the rows cannot be read.
        """
        ...

    @property
    def identity(self) -> Mapping[str, Any] | None:
        """Plain JSON types that differ for tables with other rows; None if the rows themselves tell."""
        ...


@dataclass(frozen=True, slots=True)
class File:
    """A table, or a file with one text per line.

    Attributes
    ----------
    path
        The file.
    state
        Size in bytes and time of the last change in nanoseconds, when the checksum was computed.
    sha256
        Its checksum.
    """

    path: Path
    state: tuple[int, int]
    sha256: str

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return a file, which is read once for its checksum.

        Raises
        ------
        DataError
            If it cannot be read, or is an archive, a document, a pipe or a device.
        """
        check_ending(path)
        try:
            if path.exists() and not path.is_file():
                raise DataError(
                    f"cannot read {str(path)!r}: it is a pipe or a device, which cannot be read again when the run is "
                    "continued; write it to a file first"
                )
            state = file_state(path)
            with path.open("rb") as file:
                return cls(path, state, hashlib.file_digest(file, "sha256").hexdigest())
        except DataError:
            raise
        except (OSError, ValueError) as error:  # a path with a NUL character raises ValueError
            raise cannot_read(path, error) from error

    @property
    def has_columns(self) -> bool:
        """Whether it is a table."""
        return is_table(self.path)

    def place(self, index: int) -> str:
        """Return the name and the number of the row or line, from 1."""
        return f"{str(self.path)!r}, {'row' if self.has_columns else 'line'} {index + 1}"

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield the rows of the table, or the lines of the file in the first column.

        Raises
        ------
        DataError
            If the file cannot be read, or has changed.
        """
        rows: Iterator[Row] = (
            read_rows(self.path, columns)
            if self.has_columns
            else (line.error or {columns[0]: line.text} for line in read_lines(self.path))
        )
        changed = "since the run began; begin another run of the new file"
        return while_unchanged(self.path, self.state, rows, changed)

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, size and checksum."""
        return {"name": self.path.name, "size": self.state[0], "sha256": self.sha256}


def files_in(folder: Path) -> list[Path]:
    """Return the tables and .txt files directly in a folder, by name. Names that begin with a dot or _ are left out.

    Raises
    ------
    DataError
        If the folder cannot be read, holds nothing to read, or holds anything else.
    """
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "_")))
        unknown = [path.name for path in paths if not path.is_file() or not _is_readable(path)]
    except OSError as error:
        raise cannot_read(folder, error) from error
    known = f"{', '.join(TABLE_SUFFIXES)} or {_LINES}"
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise DataError(
            f"the folder {str(folder)!r} holds {', '.join(map(repr, unknown[:3]))}{more}, expected only files that end "
            f"in {known}; move the others away, or name the files to read"
        )
    if not paths:
        raise DataError(f"the folder {str(folder)!r} has no files, expected files that end in {known}")
    return paths


def _is_readable(path: Path) -> bool:
    return is_table(path) or format_of(path) == _LINES


@dataclass(frozen=True, slots=True)
class Texts:
    """A list, a Series or another collection of texts, pairs or mappings of fields with an order."""

    values: Collection[Any]
    has_columns = False
    identity = None

    def place(self, index: int) -> str:
        """Return the number of the text, from 0."""
        return f"text number {index}, counted from 0"

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield each text in the first column."""
        column = columns[0]
        return ({column: _content(value)} for value in self.values)


@dataclass(frozen=True, slots=True)
class Pairs:
    """A mapping from ids to texts, pairs or mappings of fields."""

    values: Mapping[Any, Any]
    has_columns = False
    identity = None

    def place(self, index: int) -> str:
        """Return the number of the text, from 0."""
        return f"text number {index}, counted from 0"

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield each text in the first column and its id in the second one."""
        text, name = columns
        return ({text: _content(value), name: key} for key, value in self.values.items())


def _content(value: Any) -> Any:
    """Return a pair or a mapping as a document, or the error if it is none; anything else as it is."""
    if isinstance(value, str) or not is_single(value):
        return value
    try:
        return Document.of(value)
    except MaseError as error:
        return error


@dataclass(frozen=True, slots=True)
class Records:
    """A list of mappings, which are the rows of a table."""

    values: Collection[Mapping[str, Any]]
    has_columns = True
    identity = None

    def place(self, index: int) -> str:
        """Return the number of the row, from 0."""
        return f"row {index}, counted from 0"

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield each mapping."""
        del columns
        return iter(self.values)


@dataclass(frozen=True, slots=True)
class ArrowTable:
    """A table of pandas, polars, pyarrow, datasets or another library that Arrow can read."""

    value: Any
    has_columns = True
    identity = None

    def place(self, index: int) -> str:
        """Return the number of the row, from 0."""
        return f"row {index}, counted from 0"

    def rows(self, columns: Sequence[str]) -> Iterator[Row]:
        """Yield the rows.

        Raises
        ------
        DataError
            If a column mixes types or cannot be converted.
        MissingDependencyError
            If pyarrow is not installed.
        """
        pa, _ = require_pyarrow()
        try:
            names, batches = _selected(self.value, columns)
            # An error about a missing column lists the present ones.
            absent = {} if set(columns) <= set(names) else dict.fromkeys(names)
            for batch in batches:
                yield from (absent | row for row in batch.to_pylist())
        except (pa.ArrowException, LookupError, OverflowError, TypeError, ValueError) as error:
            raise DataError(
                f"the table cannot be read: {error!s:.300}; convert the column to one type, as in table['text'] = "
                "table['text'].astype(str)"
            ) from error


def _selected(value: Any, columns: Sequence[str]) -> tuple[Sequence[str], Iterable[Any]]:
    """Return the names of all columns, and those that are asked for in batches of Arrow."""
    pa, _ = require_pyarrow()
    pandas, datasets = sys.modules.get("pandas"), sys.modules.get("datasets")
    is_dataset = datasets is not None and isinstance(value, datasets.Dataset)
    is_frame = pandas is not None and isinstance(value, pandas.DataFrame)
    table = value if is_dataset or is_frame else pa.table(value)
    # Those of pandas are as Arrow has them; a table without a heading has 0, 1, ...
    names = [str(name) for name in value.columns] if is_frame else table.column_names
    places = _places(columns, names)
    if not places:  # nothing is read, as the rows tell that a column is missing
        table = pa.table({name: pa.nulls(len(table)) for name in names[:1]})
    elif is_dataset:
        picked = table.select_columns([names[place] for place in places])
        return names, picked.with_format("arrow").iter(_AT_A_TIME)
    elif is_frame:
        table = pa.Table.from_pandas(table.iloc[:, places], preserve_index=False)
    else:
        table = table.select(places)
    return names, table.to_batches(max_chunksize=_AT_A_TIME)


def _places(columns: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the places of those of the columns that are there."""
    repeated = next((name for name in columns if names.count(name) > 1), None)
    if repeated is not None:
        raise DataError(f"the table has the column {repeated!r} twice, expected unique names; rename or drop one")
    return [place for place, name in enumerate(names) if name in columns]
