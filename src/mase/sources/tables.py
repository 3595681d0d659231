"""Files, frames and lists as tables that can be read again."""

import hashlib
import json
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, Protocol, Self

from mase.document import Document, is_single
from mase.errors import DataError, EmptyTextError, MaseError
from mase.files import cannot_read, file_state, while_unchanged
from mase.sources.files import TABLE_SUFFIXES, check_ending, format_of, is_table, read_lines, read_rows, require_pyarrow
from mase.sources.rows import Columns, Ids, Item, Row, missing_column

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
        """Yield the rows with these columns, where they have them."""
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
        """Return a file, which is read once for its checksum."""
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
        """Yield the rows of the table, or the lines of the file in the first column."""
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
    """Return the tables and .txt files directly in a folder, by name. Names that begin with a dot or _ are left out."""
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
        """Yield the rows."""
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


class TableSource:
    """The texts of tables, one after the other.

    Parameters
    ----------
    tables
        The tables, in order.
    columns
        The columns to read.
    limit
        The number of texts at most; None for all.
    known
        What `describe` returned earlier, or None. If it is of the same files, they are not read to count their rows.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        columns: Columns,
        limit: int | None = None,
        known: Mapping[str, Any] | None = None,
    ) -> None:
        self._tables, self._columns = tables, columns
        document = columns.document
        # Only where they are given: earlier releases had none, and go on with their runs.
        fields = {"fields": list(document.fields), "numbers": sorted(document.numbers)} if document.fields else {}
        self._options = {
            "text_column": document.text,
            "id_column": columns.id,
            "keep": {name: column for column, name in columns.keep},
            "limit": limit,
            "where": dict(columns.where),
            **fields,
        }
        ids = Ids()
        self._described = self._recalled(known or {}) or list(self._read(limit, ids))
        self._counts = [table["rows"] for table in self._described]
        self._check(ids)

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns that are kept beside the texts."""
        return tuple(name for _, name in self._columns.keep)

    def __len__(self) -> int:
        return sum(self._counts)

    def describe(self) -> Mapping[str, Any]:
        """Return plain JSON types: of each table the checksum and the number of rows, and what is read of them.

        A file has also its name and size. The checksum of a value of Python is that of ids, texts and kept columns.
        """
        return {**self._options, "tables": self._described}  # what was asked first: it decides the number of rows

    def items(self, start: int = 0) -> Iterator[Item]:
        """Yield the items in order, from row `start` on."""
        first = 0
        for table, n in zip(self._tables, self._counts, strict=True):
            if start < first + n:
                yield from self._items(table, first, range(max(0, start - first), n))
            first += n

    def _items(self, table: Table, first: int, indices: range) -> Iterator[Item]:
        n = indices.start
        for index, row in enumerate(islice(self._rows(table), n, indices.stop), n):
            yield self._item(table, first, index, row)
            n = index + 1
        if n < indices.stop:
            raise DataError(
                f"{self._place_in(table, n)} is missing, expected {indices.stop:,} texts: the input has changed"
            )

    def _rows(self, table: Table) -> Iterator[Row]:
        """Yield the rows of a table that are wanted."""
        rows = table.rows(self._columns.asked)
        return filter(self._columns.wants, rows) if self._columns.where else iter(rows)

    def _place_in(self, table: Table, index: int) -> str:
        """Return where the wanted row number `index` of a table is."""
        if not self._columns.where:
            return table.place(index)
        wanted = (number for number, row in enumerate(table.rows(self._columns.asked)) if self._columns.wants(row))
        return table.place(next(islice(wanted, index, None), index))

    def _item(self, table: Table, first: int, index: int, row: Row) -> Item:
        try:
            return self._columns.item(first + index, row)
        except DataError as error:
            raise DataError(f"{self._place_in(table, index)}: {error}") from error

    def _recalled(self, known: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the tables of an earlier description; none if it is of other tables or options."""
        tables = known.get("tables")
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            return []
        same = [{key: table[key] for key in table if key != "rows"} for table in tables]
        counted = all(type(table.get("rows")) is int and table["rows"] >= 0 for table in tables)
        if not counted or {**known, "tables": same} != {**self._options, "tables": [t.identity for t in self._tables]}:
            return []
        return tables

    def _read(self, limit: int | None, ids: Ids) -> Iterator[dict[str, Any]]:
        """Yield the description of each table, all of whose rows are read and checked."""
        first = 0
        for table in self._tables:
            tally = _Tally({column for column, _ in self._columns.keep})
            left = None if limit is None else min(limit - first, sys.maxsize)
            for index, row in enumerate(islice(self._rows(table), left)):
                item = self._item(table, first, index, row)
                tally.add(row, item)
                if table.identity is None:
                    tally.digest(item)
                if self._columns.id is not None:
                    ids.add(item.id)
            tally.check(table)
            first += tally.n
            yield {**(table.identity or {"sha256": tally.checksum.hexdigest()}), "rows": tally.n}

    def _check(self, ids: Ids) -> None:
        if not len(self):
            wanted = " and ".join(f"{value!r:.80} in column {column!r:.80}" for column, value in self._columns.where)
            having = f" whose row has {wanted}" if wanted else ""
            raise EmptyTextError(f"the input has no text{having}, expected at least one")
        repeated = ids.repeated(item.id for item in self.items())
        if repeated is not None:
            earlier, later = map(self._place, repeated)
            name = next(self.items(repeated[0])).id
            raise DataError(
                f"the id {name!r:.80} is that of two texts, {earlier} and {later}, expected unique ids; correct them, "
                "or leave out id_column to number the texts"
            )

    def _place(self, row: int) -> str:
        """Return where a row of the whole input is."""
        ends = list(accumulate(self._counts))
        table = bisect_right(ends, row)
        return self._place_in(self._tables[table], row - (ends[table] - self._counts[table]))


class _Tally:
    """What has been seen of a table: the number of rows, columns that none has had, the first row without a text."""

    def __init__(self, absent: set[str]) -> None:
        self.n, self.absent, self.checksum = 0, absent, hashlib.sha256()
        self._columns: Mapping[str, Any] = {}
        self._invalid: MaseError | None = None
        self._has_text = False

    def add(self, row: Row, item: Item) -> None:
        """Take the next row."""
        self.n += 1
        if item.error is None:
            self._has_text = True
        elif self._invalid is None:
            self._invalid = item.error
        if self.absent and not isinstance(row, MaseError):
            self.absent -= row.keys()
            self._columns = row

    def digest(self, item: Item) -> None:
        """Add an item to the checksum."""
        text = item.text.content if isinstance(item.text, Document) else item.text
        self.checksum.update(json.dumps([item.id, text, item.kept, str(item.error or "")]).encode())

    def check(self, table: Table) -> None:
        """Check that the table had a text, if it had a row, and the columns to keep."""
        if not self.n:
            return
        if not self._has_text:
            raise DataError(f"{table.place(0)}: {self._invalid}; no row can be read")
        if self.absent:
            absent = missing_column(min(self.absent), self._columns, "; correct the columns to keep")
            raise DataError(f"{table.place(0)}: {absent}")
