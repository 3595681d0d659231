"""Write tables that a question to runs has as its answer, as CSV or Parquet."""

import csv
import os
from collections.abc import Iterable, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from mase.errors import DataError
from mase.files import write_stream
from mase.outputs.csv import cell

__all__ = ["Form", "check_free", "write_tables"]

Form = Literal["csv", "parquet"]


def check_free(folder: str | os.PathLike[str], names: Iterable[str], form: Form) -> None:
    """Check that no table would replace a file.

    Raises
    ------
    DataError
        If one would.
    """
    for name in names:
        path = Path(folder) / f"{name}.{form}"
        if os.path.lexists(path):
            raise DataError(f"{os.fspath(path)!r} exists, expected a new file; rename it, or choose another folder")


def write_tables(folder: str | os.PathLike[str], tables: Mapping[str, pa.Table], form: Form) -> list[Path]:
    """Write each table to `NAME.csv` or `NAME.parquet` in a folder, which is created; return the paths.

    In CSV, text that a spreadsheet would take for a formula is prefixed with an apostrophe.

    Raises
    ------
    DataError
        If a file exists or cannot be written.
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
