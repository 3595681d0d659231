"""Tests of reading the footer of a Parquet file that anybody may have made."""

from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.errors import DataError
from mase_corpora.folder import Folder, read_footer, read_table
from mase_corpora.read import read_failures
from mase_corpora.schema import ADDED, TABLES, schema
from mase_corpora.storage import storage_of

NOTES = [{"code": "c", "unit": 1, "message": "m"}] * 3


TABLE = pa.Table.from_pylist(
    [{"id": str(row), "row": row, "notes": NOTES * (row % 2), "error": "E" if row > 4 else None} for row in range(7)],
    schema("texts", [f"label{number}" for number in range(20)]),
)


def written(table=TABLE, **how):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"row_group_size": 2},
        {"compression": "zstd", "write_statistics": False},
        {"use_dictionary": False, "data_page_size": 1},
        {"write_page_index": True, "version": "1.0", "store_schema": False},
        {"sorting_columns": [pq.SortingColumn(0)], "use_dictionary": ["id"]},
    ],
)
def test_it_says_what_pyarrow_says(how):
    content = written(**how)
    found = pq.ParquetFile(pa.BufferReader(content)).metadata
    expected = []
    for group in map(found.row_group, range(found.num_row_groups)):
        columns = [group.column(index) for index in range(found.num_columns)]
        counts = [one.statistics.null_count if one.statistics is not None else None for one in columns]
        expected.append(
            [(one.num_values, one.total_uncompressed_size, n) for one, n in zip(columns, counts, strict=True)]
        )
    groups = read_footer(BytesIO(content))
    assert [[(one.num_values, one.size, one.null_count) for one in group] for group in groups] == expected


def test_a_table_without_rows_has_a_footer():
    groups = read_footer(BytesIO(written(TABLE.slice(0, 0))))
    assert not any(column.num_values for group in groups for column in group)


def test_damage_is_an_error_or_no_matter():
    """No flipped bit of a footer ends the process, or raises anything else."""
    content = written(TABLE.select(["id", "row", "error"]))
    wanted = TABLE.select(["id", "row", "error"]).schema
    begin = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(content)
        damaged[int(rng.integers(begin, len(content)))] ^= 1 << int(rng.integers(8))
        try:
            outcomes.add(read_table(bytes(damaged), wanted, "here").num_rows)
        except DataError:
            outcomes.add("refused")
    assert {7, "refused"} <= outcomes


@pytest.mark.parametrize(
    "footer",
    [
        b"\x15\x02\x05\x00\x02\x00",  # field 1 twice
        b"\x19" + b"\xff" * 20,  # a list of more than 2**64
        b"\x18\xff\xff\xff\xff\x0f\x00",  # a string that is longer than the file
        b"\x1c" * 100_000,  # structs in structs
        b"\x1d\x00",  # a type that is none
        b"\x15",
        b"\x00",
        b"",
    ],
)
def test_what_is_no_footer_is_an_error(footer):
    with pytest.raises(ValueError, match="footer"):
        read_footer(BytesIO(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1\xff\xff\xff\x7fPAR1", b"PAR1\x00\x00\x00\x00PARE"])
def test_what_is_no_file_is_an_error(content):
    with pytest.raises(ValueError, match="no footer"):
        read_footer(BytesIO(content))


SCHEMA = schema("texts", ["label"])


ROWS = [
    {"id": "a", "row": 0, "label": "x", "notes": [{"code": "c", "unit": 1, "message": "m"}, {"code": "c"}]},
    {"id": "b", "row": 1, "document": "[]", "notes": None},
    {"id": "b", "row": 2, "probability": 0.5, "notes": []},
]


def parquet(table, **how):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **how)
    return sink.getvalue().to_pybytes()


def test_what_was_written_is_read():
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    for how in ({}, {"use_dictionary": False}, {"store_schema": False}, {"row_group_size": 1}):
        assert read_table(parquet(table, **how), SCHEMA, "here").equals(table)
    assert read_table(parquet(table), SCHEMA, "here", ["row"]).equals(table.select(["row"]))
    assert read_table(parquet(SCHEMA.empty_table()), SCHEMA, "here").num_rows == 0


@pytest.mark.parametrize("length", [0, 4, 12, 100, -1])
def test_a_part_of_a_file_is_refused(length):
    content = parquet(pa.Table.from_pylist(ROWS, SCHEMA))
    with pytest.raises(DataError):
        read_table(content[:length], SCHEMA, "here")


@pytest.mark.parametrize(
    "other",
    [
        pa.schema([("id", pa.string())]),
        SCHEMA.append(pa.field("x", pa.string())),
        pa.schema([*SCHEMA][::-1]),
        SCHEMA.set(1, pa.field("row", pa.int32())),
        SCHEMA.set(0, pa.field("id", pa.binary())),
    ],
)
def test_another_schema_is_refused(other):
    with pytest.raises(DataError):
        read_table(parquet(other.empty_table()), SCHEMA, "here")


def test_only_a_file_with_all_columns_and_more_may_be_of_a_later_release():
    later, damaged = SCHEMA.append(pa.field("x", pa.string())), pa.schema([*SCHEMA][:-1])
    with pytest.raises(DataError, match=r"later release.*; copy it again"):
        read_table(parquet(later.empty_table()), SCHEMA, "here", remedy="copy it again")
    with pytest.raises(DataError, match="copy it again") as caught:
        read_table(parquet(damaged.empty_table()), SCHEMA, "here", remedy="copy it again")
    assert "later release" not in str(caught.value)


@pytest.mark.parametrize("kind", [pa.ArrowMemoryError, MemoryError])
def test_a_file_is_not_called_damaged_when_memory_runs_out(tmp_path, monkeypatch, kind):
    folder = Folder(storage_of(tmp_path))
    folder.write(0, {table: schema(table).empty_table() for table in TABLES}, {})

    def exhausted(*_args, **_options):
        raise kind("malloc of size 64 failed")

    monkeypatch.setattr(pq.ParquetFile, "read", exhausted)
    for read in (lambda: folder.read("units", 0, schema("units")), lambda: list(read_failures(folder, [0]))):
        with pytest.raises(DataError, match=r"memory ran out.*malloc of size 64.*only if that fails") as caught:
            read()
        assert "Parquet table" not in str(caught.value)


def test_a_small_file_of_much_is_refused():
    """A repeated string costs a byte on the disk, and its length in memory."""
    schema = pa.schema([("id", pa.string())])
    many = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * (1 << 20)]))
    content = parquet(pa.table({"id": many}), store_schema=False)
    assert len(content) < 1 << 18
    with pytest.raises(DataError, match="unpacks"):
        read_table(content, schema, "here")
    few = many.slice(0, 3)
    assert read_table(parquet(pa.table({"id": few}), store_schema=False), schema, "here").nbytes > 3 << 20


def test_strings_that_are_not_utf8_are_refused():
    raw = pa.array([b"\xff\xfe"], pa.binary())
    table = pa.table({"id": pa.Array.from_buffers(pa.string(), 1, raw.buffers())})
    with pytest.raises(DataError):
        read_table(parquet(table), table.schema, "here")


def test_columns_that_were_added_since_are_null():
    now = schema("responses")
    row = {"id": "a", "row": 0, "response": "x", "link": "margin", "value": 1.0, "r2": 0.5, "exact": False}
    before = pa.schema([field for field in now if field.name not in ADDED])
    content = parquet(pa.Table.from_pylist([row], before))
    expected = pa.Table.from_pylist([row], now)
    assert read_table(content, now, "here").equals(expected)
    assert read_table(content, now, "here", ["r2_held_out", "r2"]).equals(expected.select(["r2_held_out", "r2"]))
    without_more = pa.schema([field for field in before if field.name != "exact"])
    with pytest.raises(DataError, match="expected those of this run"):
        read_table(parquet(pa.Table.from_pylist([row], without_more)), now, "here")
