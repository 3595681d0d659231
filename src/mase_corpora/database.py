"""The run in DuckDB, with bounded memory and no access to other files; exports."""

import csv
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mase.arrays import Floats
from mase.errors import DataError
from mase.files import write_stream
from mase.outputs.formats import cell
from mase.registry import require

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


_MEMORY = "1GB"
_LOADED, _FETCHED = 64 << 20, 1 << 17


class Database:
    """A connection to which Arrow tables are lent."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self._connection = connection

    def run(self, sql: str, values: Any = None, **tables: pa.Table) -> list[tuple[Any, ...]]:
        """Execute a statement that may read the Arrow tables by their names, and return its rows."""
        with self._lent(tables):
            return self._connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Any = None) -> tuple[Any, ...]:
        """Return the only row of a query."""
        (result,) = self.run(sql, values)
        return result

    def arrays(self, sql: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return the columns of a query as NumPy arrays by name; a NULL is NaN."""
        columns = self._connection.execute(sql).fetchnumpy()
        return {name: np.ma.filled(column, np.nan) for name, column in columns.items()}

    def table(self, sql: str) -> pa.Table:
        """Return the rows of a query as an Arrow table."""
        return self._connection.sql(sql).to_arrow_table()

    def numbers(self, sql: str) -> Iterator[Floats]:
        """Yield the numbers of a query of one column, in batches."""
        cursor = self._connection.execute(sql)
        while rows := cursor.fetchmany(_FETCHED):
            yield np.array(rows, dtype=np.float64)[:, 0]

    def load(self, name: str, schema: pa.Schema, tables: Iterable[pa.Table], columns: str = "*") -> None:
        """Make a table of columns (SQL) of the rows of Arrow tables with this schema."""
        self.run(f"CREATE TEMP TABLE {name} AS SELECT {columns} FROM empty", empty=schema.empty_table())
        for rows in joined(tables):
            self.run(f"INSERT INTO {name} SELECT {columns} FROM rows", rows=rows)

    @contextmanager
    def _lent(self, tables: dict[str, pa.Table]) -> Iterator[None]:
        for name, table in tables.items():
            self._connection.register(name, table)
        try:
            yield
        finally:
            for name in tables:
                self._connection.unregister(name)


def joined(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the tables, several at a time in one, of at least 64 MB each but for the last one."""
    waiting: list[pa.Table] = []
    size = 0
    for table in tables:
        waiting.append(table)
        size += table.nbytes
        if size >= _LOADED:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, size = [], 0
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


@contextmanager
def database() -> Iterator[Database]:
    """Yield an empty database that holds at most 1 GB in memory and the rest in a temporary folder.

    It opens no file and no network connection but that folder, and loads no extension. It uses one thread, so that the
    same run has the same answer to the last digit.
    """
    require("duckdb", "corpora")
    import duckdb

    with TemporaryDirectory(prefix="mase-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": folder,
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            # Last: from here on nothing can be changed, the temporary folder included.
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            try:
                yield Database(connection)
            except duckdb.Error as error:
                raise DataError(
                    f"the tables of the run cannot be read by the database: {error!s:.300}; make room in the folder of "
                    "temporary files, or make the run again if its files were changed"
                ) from error


Form = Literal["csv", "parquet"]


def check_free(folder: str | os.PathLike[str], names: Iterable[str], form: Form) -> None:
    """Check that no table would replace a file."""
    for name in names:
        path = Path(folder) / f"{name}.{form}"
        if os.path.lexists(path):
            raise DataError(f"{os.fspath(path)!r} exists, expected a new file; rename it, or choose another folder")


def write_tables(folder: str | os.PathLike[str], tables: Mapping[str, pa.Table], form: Form) -> list[Path]:
    """Write each table to `NAME.csv` or `NAME.parquet` in a folder, which is created; return the paths.

    In CSV, text that a spreadsheet would take for a formula is prefixed with an apostrophe.
    """
    check_free(folder, tables, form)
    paths = []
    for name, table in tables.items():
        path = Path(folder) / f"{name}.{form}"
        write_stream(path, BytesIO(_as_csv(table) if form == "csv" else _as_parquet(table)))
        paths.append(path)
    return paths


def _as_csv(table: pa.Table) -> bytes:
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=4096):
        writer.writerows(_cells(batch))
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cells(batch: pa.RecordBatch) -> Iterable[list[Any]]:
    columns = (column.to_pylist() for column in batch.columns)
    return ([cell(value) for value in row] for row in zip(*columns, strict=True))


def _as_parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())
