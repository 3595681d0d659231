"""Parquet output: the table of `mase.outputs.csv`, for data frames."""

from typing import Any, BinaryIO

from mase.attribution import Attribution
from mase.datasets.table import require_pyarrow
from mase.io.json import Failure
from mase.outputs.csv import COLUMNS, rows_of

__all__ = ["ParquetTable"]


class ParquetTable:
    """Collects the rows of `CsvTable`, with texts as they are, and writes them at the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self.pyarrow, self.parquet = require_pyarrow()
        self.stream = stream
        self.rows: list[dict[str, Any]] = []

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Keep the rows of a result."""
        self.rows += [{"number": number} | row for row in rows_of(result)]

    def close(self) -> None:
        """Write the table."""
        columns = {name: [row.get(name) for row in self.rows] for name in COLUMNS}
        self.parquet.write_table(self.pyarrow.table(columns), self.stream)
