"""Tests of `mase.datasets.formats`."""

import gzip
import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.labelled_texts import LABELS, TEXTS

from mase.datasets.formats import read_rows
from mase.datasets.labelled import read_labelled
from mase.errors import DataError


def write_csv(path, separator):
    import csv

    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=separator)
        writer.writerow(["label", "text", "split"])
        writer.writerows([label, text, "test" if index % 2 else "train"] for index, (text, label) in enumerate(rows()))


def rows():
    return list(zip(TEXTS, LABELS, strict=True))


def write_parquet(path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    splits = ["test" if index % 2 else "train" for index in range(len(TEXTS))]
    parquet.write_table(
        pa.table({"text": TEXTS, "label": LABELS, "split": splits, "other": list(range(len(TEXTS)))}), path
    )


def write_lines(path):
    rows_ = [{"text": t, "label": label, "split": "test" if i % 2 else "train"} for i, (t, label) in enumerate(rows())]
    path.write_text("\n".join(map(json.dumps, rows_)) + "\n\n", encoding="utf-8")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_format_gives_the_same_rows(tmp_path, ending):
    path = tmp_path / f"texts.{ending}"
    if ending == "parquet":
        write_parquet(path)
    elif ending == "jsonl":
        write_lines(path)
    else:
        write_csv(path, "," if ending == "csv" else "\t")
    found = read_labelled(path)
    assert [(row.row, row.text, row.label) for row in found.rows] == [(i, *row) for i, row in enumerate(rows(), 1)]
    assert len(found.sha256) == 64
    part = read_labelled(path, where={"split": "test"})
    assert [row.row for row in part.rows] == [2, 4, 6]
    unlabelled = read_labelled(path, label_column=None)
    assert {row.label for row in unlabelled.rows} == {None}
    assert len(read_labelled(path, label_column="rating", labels_optional=True)) == len(TEXTS)
    with pytest.raises(
        DataError, match=r"row 1: no column 'review', expected one of: .*'text'.*; name the column of the texts"
    ):
        read_labelled(path, text_column="review")
    with pytest.raises(DataError, match="no row where"):
        read_labelled(path, where={"split": "none"})


def test_long_fields_and_the_limit_of_the_csv_module(tmp_path):
    import csv

    before = csv.field_size_limit()
    path = tmp_path / "long.csv"
    path.write_text("text,label\n" + "word " * 40_000 + ",pos\n", encoding="utf-8")
    assert len(read_labelled(path).rows[0].text) > before
    assert csv.field_size_limit() == before


def test_the_first_line_may_be_long(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text(f"text;{'word ' * 40_000}\na;b\n", encoding="utf-8")
    assert [list(row.values()) for row in read_rows(path, ["text"])] == [["a", "b"]]


def test_two_tables_with_long_fields_may_be_open_at_once(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("text\n" + ("word " * 40_000 + "\n") * 2, encoding="utf-8")
    first, second = read_rows(path, ["text"]), read_rows(path, ["text"])
    next(first), next(second)
    assert len(list(first)) == len(list(second)) == 1


def test_where_a_table_stops_being_utf_8(tmp_path):
    path = tmp_path / "latin.csv"
    content = b"text\n" + b"good film\n" * 9_000
    path.write_bytes(content + b"caf\xe9\n")
    with pytest.raises(DataError, match=f"not UTF-8 at byte {len(content) + 3}; convert it"):
        list(read_rows(path, ["text"]))


def test_a_heading_with_a_name_twice_is_an_error(tmp_path):
    path = tmp_path / "twice.csv"
    path.write_text("text,label,text\na,pos,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="has the column 'text' twice"):
        list(read_rows(path, ["text"]))


def test_a_wide_table_takes_no_longer_for_each_column(tmp_path):
    """A name that is looked for among all others, for each, would take minutes."""
    path, names = tmp_path / "wide.csv", [f"c{number}" for number in range(40_000)]
    path.write_text(",".join(["text", *names]) + "\ngood" + ",1" * len(names) + "\n", encoding="utf-8")
    begun = time.process_time()
    assert len(next(iter(read_rows(path, ["text"])))) == 40_001
    assert time.process_time() - begun < 5


def test_a_parquet_table_or_an_object_with_a_name_twice_is_an_error(tmp_path):
    columns = [pa.array(["good"]), pa.array(["dull"]), pa.array(["pos"])]
    pq.write_table(pa.Table.from_arrays(columns, names=["text", "text", "label"]), tmp_path / "twice.parquet")
    with pytest.raises(DataError, match="has the column 'text' twice"):
        list(read_rows(tmp_path / "twice.parquet", ["text"]))
    lines = tmp_path / "twice.jsonl"
    lines.write_text('{"text": "good", "text": "dull"}\n{"text": "a film"}\n', encoding="utf-8")
    found = read_labelled(lines, label_column=None).rows
    assert all(part in str(found[0].error) for part in ("line 1", "'text'"))
    assert (found[0].text, found[1].text) == ("", "a film")


def test_a_missing_column_is_told_whatever_the_others_hold(tmp_path):
    """Times in nanoseconds cannot be read as Python's, and need not."""
    times = pa.array([1, 2], pa.timestamp("ns"))
    pq.write_table(pa.table({"when": times, "label": ["pos", "neg"]}), tmp_path / "times.parquet")
    assert list(read_rows(tmp_path / "times.parquet", ["text"])) == [{"when": None, "label": None}] * 2
    assert list(read_rows(tmp_path / "times.parquet", ["label"])) == [{"label": "pos"}, {"label": "neg"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "text,label\nunquoted, comma,pos\n",
            "row 1: another number of fields than the heading, got 3, expected 2",
        ),
        ("a.csv", "text,label\na\n", "row 1: another number of fields than the heading, got 1, expected 2"),
        ("a.csv", 'text,label\n"open,pos\n', "cannot be read at line"),
        ("a.csv", "text,label\n", "has no row, expected at least one text"),
        ("a.jsonl", '{"text": "a"', "line 1 is not JSON"),
        ("a.jsonl", "[1]", "line 1 is a list, expected an object"),
        ("a.jsonl", '{"text": 3, "label": 1}', "row 1: 'text' is of type int, expected a string"),
        ("a.parquet", "no table", "is not a Parquet table"),
        ("a.table", "x", "has an unknown suffix, expected one of .csv, .tsv"),
        ("a.xlsx", "x", "save it as CSV"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_labelled(path)


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("text,label\ncaf\u00e9,pos\n".encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8"):
        read_labelled(path)
    with pytest.raises(DataError, match="No such file"):
        read_labelled(tmp_path / "none.csv")


def read(path, content):
    path.write_bytes(content)
    return [(row.text, row.label) for row in read_labelled(path).rows]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_the_heading_of_a_csv_file_tells_the_separator(tmp_path, separator):
    table = f'text{separator}label\n"good; really, or\tnot"{separator}pos\n'
    assert read(tmp_path / "a.csv", table.encode()) == [("good; really, or\tnot", "pos")]


def test_a_comma_wins_where_the_heading_does_not_tell(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,a;b\ngood; film,pos\n", encoding="utf-8")
    assert read_labelled(path, label_column="a;b").rows[0].text == "good; film"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_read(tmp_path, end):
    assert read(tmp_path / "a.csv", end.join(["text,label", "good film,pos", ""]).encode()) == [("good film", "pos")]
    quoted = end.join(["text,label", '"good', 'film",pos', ""]).encode()
    assert read(tmp_path / "a.csv", quoted) == [(f"good{end}film", "pos")]


def test_the_place_of_what_is_not_utf8_is_that_in_the_file(tmp_path):
    content = b"\xef\xbb\xbftext,label\ngood,pos\nbad \xff,neg\n"
    for name, packed in (("a.csv", content), ("a.csv.gz", gzip.compress(content))):
        with pytest.raises(DataError, match=f"not UTF-8 at byte {content.index(0xFF)}"):
            read(tmp_path / name, packed)


@pytest.mark.parametrize(
    ("kind", "value"), [(pa.date32(), 10**7), (pa.timestamp("us"), 10**18), (pa.date32(), -(10**6))]
)
def test_a_date_beyond_those_of_python_costs_its_row_alone(tmp_path, kind, value):
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    path = tmp_path / "late.parquet"
    texts = ["a good film", "a dull film"]
    pq.write_table(pa.table({"text": texts, "until": pa.array([value, 0], whole).cast(kind)}), path)
    late, fine = read_rows(path, ["text", "until"])
    assert "a date or a time that cannot be read" in str(late)
    assert fine["text"] == "a dull film"
    assert [row["text"] for row in read_rows(path, ["text"])] == texts
