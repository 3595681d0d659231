"""Files that hold no texts say what to do with them."""

import gzip

import pytest

from mase.datasets.labelled import read_labelled
from mase.errors import DataError

CSV = 'text,label\n"good, really",pos\nbad film,neg\n'


def read(path, content):
    path.write_bytes(content)
    return [(row.text, row.label) for row in read_labelled(path).rows]


@pytest.mark.parametrize(("name", "remedy"), [("a.xlsx", "CSV"), ("a.json", "jsonl"), ("a.csv.zip", "unpack")])
def test_tables_that_cannot_be_read_say_what_to_do(tmp_path, name, remedy):
    with pytest.raises(DataError, match=remedy):
        read(tmp_path / name, CSV.encode())


def test_a_packed_file_by_another_name_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"name it \.gz"):
        read(tmp_path / "a.csv", gzip.compress(CSV.encode()))
