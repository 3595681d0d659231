"""The texts of a run that could not be explained, found by the statistics in the files of its parts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import pyarrow.parquet as pq

from mase.corpus.folder import Folder
from mase.corpus.footer import Chunk

__all__ = ["Failure", "count_failed", "count_failures", "failed_rows", "read_failures"]

_COLUMNS = ("id", "row", "error", "message")


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be explained: its id and row in the input, the type of the error and its message."""

    id: str
    row: int
    error: str
    message: str


def count_failures(folder: Folder, part: int) -> int:
    """Return the number of texts of a finished part that could not be explained, from the metadata of its file.

    Raises
    ------
    DataError
        If the file cannot be read or is not such a table.
    """
    with folder.opened("texts", part) as (file, groups):
        return count_failed(file, groups)


def read_failures(folder: Folder, parts: Iterable[int]) -> Iterator[Failure]:
    """Yield the texts of finished parts that could not be explained, in order. Of other parts the metadata is read.

    Raises
    ------
    DataError
        As for `count_failures`.
    """
    for part in parts:
        with folder.opened("texts", part) as (file, groups):
            rows = file.read(list(_COLUMNS), use_threads=False).to_pylist() if count_failed(file, groups) else []
        yield from (Failure(*(row[name] for name in _COLUMNS)) for row in rows if row["error"] is not None)


def failed_rows(folder: Folder, parts: Iterable[int]) -> Mapping[int, Set[int]]:
    """Return the rows of the texts that could not be explained, by part; parts without any are left out.

    Raises
    ------
    DataError
        As for `count_failures`.
    """
    found = {part: {failure.row for failure in read_failures(folder, (part,))} for part in parts}
    return {part: rows for part, rows in found.items() if rows}


def count_failed(file: pq.ParquetFile, groups: Sequence[Sequence[Chunk]]) -> int:
    """Return the number of failed texts in an open file of texts, from its footer if that says so."""
    index = [file.schema.column(number).path for number in range(len(file.schema))].index("error")
    nulls = [group[index].null_count for group in groups]
    known = [count for count in nulls if count is not None]
    if len(known) == len(nulls):
        return int(file.metadata.num_rows) - sum(known)
    column = file.read(["error"], use_threads=False).column(0)
    return int(len(column) - column.null_count)
