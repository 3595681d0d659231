"""The tables of a summary as columns, and as CSV and Parquet files."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from io import BytesIO, StringIO
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, get_args, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from mase.files import write_stream, write_text
from mase.outputs.csv import cell
from mase.summary.effects import Example, Family, GroupDifference, PhraseEffect, PushDifference, WordEffect
from mase.summary.overview import Confusion, Distribution, Failures, NoteCount, Overview, PredictedClass
from mase.summary.summary import Summary

__all__ = ["ROWS", "table", "write_csv", "write_parquet"]

# The kind of the rows of each table.
ROWS: Mapping[str, Any] = MappingProxyType(
    {
        "overview": Overview,
        "predictions": PredictedClass,
        "quality": Distribution,
        "notes": NoteCount,
        "failures": Failures,
        "words": WordEffect,
        "phrases": PhraseEffect,
        "confusion": Confusion,
        "wrong": PushDifference,
        "low_confidence": PushDifference,
        "groups": GroupDifference,
        "families": Family,
    }
)
# Most examples of a row.
_EXAMPLES = 3
_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string()}


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: pa.DataType
    values: list[Any]


def table(summary: Summary, name: str) -> pa.Table:
    """Return a table of `ROWS` by its name, with a column of strings for each of the three examples.

    Raises
    ------
    KeyError
        If there is no such table.
    """
    found = getattr(summary, name)
    rows = [found] if name == "overview" else list(found)
    columns = [column for field in fields(ROWS[name]) for column in _columns(ROWS[name], field.name, rows)]
    return pa.table(
        [pa.array(column.values, column.type) for column in columns],
        schema=pa.schema([(column.name, column.type) for column in columns]),
    )


def write_csv(summary: Summary, folder: str | os.PathLike[str]) -> list[Path]:
    """Write each table to a CSV file of its name in a folder, and return the files.

    Text that a spreadsheet would take for a formula is prefixed with an apostrophe.

    Raises
    ------
    DataError
        If a file cannot be written.
    """
    paths = []
    for name in ROWS:
        content = table(summary, name)
        text = StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(content.column_names)
        writer.writerows([cell(value) for value in row.values()] for row in content.to_pylist())
        paths.append(Path(folder) / f"{name}.csv")
        write_text(paths[-1], text.getvalue())
    return paths


def write_parquet(summary: Summary, folder: str | os.PathLike[str]) -> list[Path]:
    """Write each table to a Parquet file of its name in a folder, and return the files.

    Raises
    ------
    DataError
        If a file cannot be written.
    """
    paths = []
    for name in ROWS:
        content = BytesIO()
        pq.write_table(table(summary, name), content, compression="zstd")
        content.seek(0)
        paths.append(Path(folder) / f"{name}.parquet")
        write_stream(paths[-1], content)
    return paths


def _columns(kind: Any, name: str, rows: Sequence[Any]) -> list[_Column]:
    values = [getattr(row, name) for row in rows]
    if name == "examples":
        return [
            _Column(f"example_{index + 1}", pa.string(), [_shown(found, index) for found in values])
            for index in range(_EXAMPLES)
        ]
    hint = get_type_hints(kind)[name]
    if isinstance(hint, UnionType):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    return [_Column(name, _TYPES.get(hint, pa.string()), values)]


def _shown(examples: Sequence[Example], index: int) -> str | None:
    """Return an example in its context, with the word in square brackets; None if there are fewer."""
    if index >= len(examples):
        return None
    example = examples[index]
    before, after = "…" * example.cut_before + example.before, example.after + "…" * example.cut_after
    return f"{before}[{example.text}]{after}"
