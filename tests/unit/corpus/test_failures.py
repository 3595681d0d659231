"""Tests of `mase.corpus.failures`."""

import io
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.corpus import failures
from mase.corpus.columns import TABLES, schema
from mase.corpus.folder import Folder
from mase.corpus.storage import storage_of
from mase.errors import DataError


@pytest.fixture
def folder(tmp_path):
    """Two parts, the second with a text that failed."""
    folder = Folder(storage_of(tmp_path))
    for part, errors in enumerate([[None, None], [None, "EmptyTextError"]]):
        rows = [{"id": f"r{i}", "row": 2 * part + i, "error": e, "message": e and "why"} for i, e in enumerate(errors)]
        tables = {name: schema(name).empty_table() for name in TABLES}
        folder.write(part, tables | {"texts": pa.Table.from_pylist(rows, schema=schema("texts"))}, {})
    return folder


def test_failures_are_counted_and_read(folder, monkeypatch):
    assert [failures.count_failures(folder, part) for part in (0, 1)] == [0, 1]
    assert list(failures.read_failures(folder, (0, 1))) == [failures.Failure("r1", 3, "EmptyTextError", "why")]
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", None)
    assert failures.count_failures(folder, 1) == 1  # from the metadata alone


def test_files_without_statistics_are_read(folder, tmp_path):
    path = tmp_path / "texts" / "part-00001.parquet"
    pq.write_table(pq.read_table(path), path, write_statistics=False)
    assert failures.count_failures(folder, 1) == 1


@pytest.mark.parametrize("content", [None, b"", b"PAR1"])
def test_files_that_are_no_table(folder, tmp_path, content):
    path = tmp_path / "texts" / "part-00001.parquet"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError):
        failures.count_failures(folder, 1)
    pq.write_table(pa.table({"id": ["a"]}), path)
    with pytest.raises(DataError, match=r"not a table of a run.*remove '.*/texts/part-00001\.parquet'"):
        list(failures.read_failures(folder, [1]))


def test_no_other_thread_reads_a_file(folder, tmp_path, monkeypatch):
    """A thread of Arrow that holds a file object while Python ends would abort the process (exit code 134)."""
    threads = set()

    class File(io.FileIO):
        def readinto(self, buffer):
            threads.add(threading.get_ident())
            return super().readinto(buffer)

        def read(self, size=-1):
            threads.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr(folder.storage, "open", lambda name: File(tmp_path / name))
    assert len(list(failures.read_failures(folder, (0, 1)))) == 1
    assert threads == {threading.get_ident()}
