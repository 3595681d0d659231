"""The DuckDB database of a summary: in memory up to a limit, then on disk, and without access to anything else."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from mase.errors import DataError

__all__ = ["Database", "database"]

_MEMORY = "1GB"


class Database:
    """A connection to which Arrow tables are lent."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, sql: str, values: Any = None, **tables: pa.Table) -> list[tuple[Any, ...]]:
        """Execute a statement that may read the Arrow tables by their names, and return its rows."""
        with self._lent(tables):
            return self._connection.execute(sql, values).fetchall()

    def arrays(self, sql: str, values: Any = None) -> dict[str, np.ndarray[Any, Any]]:
        """Return the columns of a query as NumPy arrays by name; a NULL is NaN."""
        columns = self._connection.execute(sql, values).fetchnumpy()
        return {name: np.ma.filled(column, np.nan) for name, column in columns.items()}

    @contextmanager
    def _lent(self, tables: dict[str, pa.Table]) -> Iterator[None]:
        for name, table in tables.items():
            self._connection.register(name, table)
        try:
            yield
        finally:
            for name in tables:
                self._connection.unregister(name)


@contextmanager
def database() -> Iterator[Database]:
    """Yield an empty database that holds at most 1 GB in memory and the rest in a temporary folder.

    It opens no file and no network connection but that folder, and loads no extension. It uses one thread, so that the
    same run has the same summary to the last digit.

    Raises
    ------
    DataError
        If DuckDB cannot work with the tables, or there is no room for them.
    """
    with TemporaryDirectory(prefix="mase-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "temp_directory": folder,
            "threads": 1,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            connection.execute("SET enable_external_access = false; SET lock_configuration = true")
            try:
                yield Database(connection)
            except duckdb.Error as error:
                raise DataError(
                    f"the tables of the run cannot be summarised: {error!s:.300}; make room in the folder of temporary "
                    "files, or make the run again if its files were changed"
                ) from error
