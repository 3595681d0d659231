"""Tests of reading the footer of a Parquet file that anybody may have made."""

from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mase.corpus.columns import schema
from mase.corpus.footer import read_footer
from mase.corpus.part_file import read_table
from mase.errors import DataError

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
