"""Packed files of texts: read as the plain ones, within limits."""

import bz2
import gzip
import io
import lzma

import pytest

from mase.datasets.labelled import read_labelled
from mase.datasets.unpacked import lines, open_unpacked
from mase.errors import DataError

CSV = 'text,label\n"good, really",pos\nbad film,neg\n'
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def read(path, content):
    path.write_bytes(content)
    return [(row.text, row.label) for row in read_labelled(path).rows]


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
def test_packed_tables_are_read_as_the_plain_ones(tmp_path, name, packing):
    content = {
        "a.csv": CSV,
        "a.tsv": CSV.replace(",", "\t").replace("good\t really", "good, really"),
        "a.jsonl": '{"text": "good, really", "label": "pos"}\n{"text": "bad film", "label": "neg"}\n',
    }[name].encode()
    expected = [("good, really", "pos"), ("bad film", "neg")]
    assert read(tmp_path / name, content) == expected
    assert read(tmp_path / f"{name}{packing}", PACKED[packing](content)) == expected


@pytest.mark.parametrize("packing", PACKED)
def test_damaged_packed_files_are_typed_errors(tmp_path, packing):
    whole = PACKED[packing](CSV.encode() * 100)
    for content in (whole[: len(whole) // 2], CSV.encode(), whole[:10] + b"\xff\xff\xff" + whole[13:]):
        with pytest.raises(DataError, match=r"a\.csv"):
            read(tmp_path / f"a.csv{packing}", content)


def test_a_file_that_unpacks_to_far_more_than_text_does_is_an_error(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + (b"good " * 1000 + b",pos\n") * (4 << 10)))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError, match="unpacks to more than"):
        read_labelled(path)


def test_a_line_longer_than_any_text_is_an_error():
    with pytest.raises(DataError, match="line 2 of 'x' is longer"):
        list(lines(io.BytesIO(b"a\n" + bytes(1 << 28)), "'x'"))


def test_what_is_not_packed_is_read_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb")
    with open_unpacked(tmp_path / "a.txt") as file:
        assert list(lines(file, "a")) == [b"a\r\n", b"b"]
