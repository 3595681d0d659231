"""Query runs with DuckDB, in bounded memory."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mase.corpus.columns import COMPARED
from mase.corpus.opened import Run
from mase.errors import DataError
from mase.lazy import require

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["database"]

_MEMORY = "1GB"


@contextmanager
def database(runs: Mapping[str, Run]) -> Iterator["DuckDBPyConnection"]:
    """Open a database in which the tables of runs are the views `NAME_texts`, `NAME_responses` and `NAME_units`.

    The files of a run are read through Arrow, after `Run.check`. The database itself can open no file but those that
    it spills to, which are deleted at the end.

    Raises
    ------
    DataError
        If a file of a run is damaged, a query needs more than the memory or the disk has, or a value is out of range.
    MissingDependencyError
        If DuckDB is not installed.
    """
    require("duckdb", "corpora")
    import duckdb

    with tempfile.TemporaryDirectory(prefix="mase-") as spilled:
        connection = duckdb.connect(
            ":memory:",
            config={
                "memory_limit": _MEMORY,
                "temp_directory": spilled,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "preserve_insertion_order": False,
            },
        )
        try:
            for name, run in runs.items():
                run.check()
                for table in COMPARED:
                    connection.register(f"{name}_{table}", run.dataset(table))
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
            yield connection
        except (duckdb.OperationalError, duckdb.DataError, duckdb.InvalidInputException) as error:
            raise DataError(f"the tables of the run cannot be queried: {error!s:.500}") from error
        finally:
            connection.close()
