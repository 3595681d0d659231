"""The rows of tables as the texts of a corpus: counted and checked once, and read from any row on."""

import hashlib
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any

from mase.corpus.ids import Ids
from mase.corpus.items import Columns, Row
from mase.corpus.source import Item
from mase.corpus.tables import Table
from mase.datasets.documents import missing_column
from mase.document import Document
from mase.errors import DataError, EmptyTextError, MaseError

__all__ = ["TableSource"]


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

    Raises
    ------
    DataError
        If there is no valid text in a table, ids are missing or not unique, or a column to keep is missing.
    EmptyTextError
        If there is no row.
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
        """Yield the items in order, from row `start` on.

        Raises
        ------
        DataError
            If the input cannot be read or has changed.
        """
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
            left = None if limit is None else limit - first
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
