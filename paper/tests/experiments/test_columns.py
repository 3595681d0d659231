"""Tests of `mase_paper.experiments.columns`."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paper.tests.experiments.samples import HEADER, plain, write

from mase.errors import DataError
from mase_paper.experiments.columns import columns_path, load
from mase_paper.experiments.records import DEPTH
from mase_paper.experiments.store import compact, read


def test_columns_hold_the_same_bits_as_journals(tmp_path):
    rng = np.random.default_rng(0)
    write(tmp_path, "lstm-imdb", "mase", rng.integers(1 << DEPTH, size=40).tolist(), seconds=0.1 + 0.2)
    write(tmp_path, "lstm-imdb", "greedy", [1, 2], probability=(), eraser=(), infidelity=(), half=True)
    write(tmp_path, "lstm-imdb", "lime", [3], eraser=(1e-300, -0.0, 1 / 3), infidelity=(), queries=2**40)
    write(tmp_path, "lstm-imdb", "lime", [4, 5], header=HEADER | {"hardware": {"processor": "é"}})
    write(tmp_path, "bert-imdb", "mase", [6])
    before = plain(read(tmp_path, "lstm-imdb"))
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before
    assert plain(load(columns_path(tmp_path, "lstm-imdb"))) == before
    assert len(before) == 44
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bert-imdb", "lstm-imdb.parquet"]
    assert set(read(tmp_path, "lstm-imdb", {"lime"})) == {"lime"}
    once = columns_path(tmp_path, "lstm-imdb").read_bytes()
    compact(tmp_path, "lstm-imdb")  # nothing to do
    assert columns_path(tmp_path, "lstm-imdb").read_bytes() == once


def test_columns_of_an_earlier_version_have_no_areas(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3])
    compact(tmp_path, "lstm-imdb")
    path = columns_path(tmp_path, "lstm-imdb")
    pq.write_table(pq.read_table(path).drop_columns("areas"), path)
    found = load(path)["mase"].by_number
    assert [one.areas for one in found.values()] == [()] * 3
    assert [one.infidelity for one in found.values()] == [(0.001, 0.25)] * 3
    write(tmp_path, "lstm-imdb", "mase", [1, 2, 3, 4])
    compact(tmp_path, "lstm-imdb")
    assert [one.areas for one in load(path)["mase"].by_number.values()] == [(), (), (), (0.3, 0.7)]


def test_columns_are_the_same_bytes_in_whichever_order_the_records_came(tmp_path):
    for folder, names in (("a", ["mase", "lime"]), ("b", ["lime", "mase"])):
        for name in names:
            write(tmp_path / folder, "lstm-imdb", name, [1, 2])
            if folder == "a":
                compact(tmp_path / folder, "lstm-imdb")
        compact(tmp_path / folder, "lstm-imdb")
    one, two = (columns_path(tmp_path / folder, "lstm-imdb").read_bytes() for folder in "ab")
    assert one == two


def test_damaged_columns_are_told_and_kept(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", list(range(500)))
    compact(tmp_path, "lstm-imdb")
    path = columns_path(tmp_path, "lstm-imdb")
    whole = path.read_bytes()
    damaged = [whole[: len(whole) // 2], b"", b"PAR1", whole[:200] + bytes([whole[200] ^ 0xFF]) + whole[201:]]
    write(tmp_path, "lstm-imdb", "lime", [1])
    for content in damaged:
        path.write_bytes(content)
        for act in (lambda: read(tmp_path, "lstm-imdb"), lambda: compact(tmp_path, "lstm-imdb")):
            with pytest.raises(DataError, match=r"cannot read .*lstm-imdb\.parquet"):
                act()
        assert path.read_bytes() == content
    pq.write_table(pa.table({"spec": ["mase"]}), path)
    with pytest.raises(DataError, match="has the columns spec, expected those of records"):
        read(tmp_path, "lstm-imdb")


@pytest.mark.slow
def test_no_damaged_byte_becomes_another_number(tmp_path):
    write(tmp_path, "lstm-imdb", "mase", list(range(300)))
    before = plain(read(tmp_path, "lstm-imdb"))
    compact(tmp_path, "lstm-imdb")
    path = columns_path(tmp_path, "lstm-imdb")
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), 37):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
        try:
            assert plain(read(tmp_path, "lstm-imdb")) == before, f"byte {place}"
        except DataError:
            refused += 1
    assert refused > 50
