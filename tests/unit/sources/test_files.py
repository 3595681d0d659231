"""Files that hold no texts say what to do with them."""

import bz2
import gzip
import io
import json
import lzma
import re
import struct
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.labelled_texts import LABELS, TEXTS
from tests.unit.sources.archives import IMDB_ROWS

from mase.errors import DataError, MissingDependencyError, OptionError, UnknownNameError
from mase.sources.files import lines, open_unpacked, read_lines, read_rows
from mase.sources.labelled import read_labelled
from mase_paper import datasets
from mase_paper.datasets import IMDB, REUTERS

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


def test_tables_of_data_sets_hold_strings(tmp_path):
    good = {"split": ["test"], "id": [1], "label": ["pos"], "text": ["a"]}
    for name, value in (("text", [None]), ("text", [5]), ("label", [None]), ("split", [5]), ("label", [["a"]])):
        pq.write_table(pa.table(good | {name: value}), tmp_path / IMDB.file)
        with pytest.raises(DataError, match=name):
            datasets.load("imdb", "test", tmp_path)
    for content in (b"", b"PAR1", b"PAR1" + struct.pack("<I", 2**31) + b"PAR1", json.dumps(good).encode()):
        (tmp_path / REUTERS.file).write_bytes(content)
        with pytest.raises(DataError, match=r"reuters46\.parquet"):
            datasets.load("reuters", "test", tmp_path)


SHARED = Path(__file__).parents[4] / "shared" / "data"


needs_reuters = pytest.mark.skipif(not (SHARED / REUTERS.file).is_file(), reason=f"no {REUTERS.file} in ../shared/data")


@pytest.fixture
def table(tmp_path):
    pq.write_table(pa.Table.from_pylist(IMDB_ROWS), tmp_path / "imdb.parquet")
    return tmp_path


def test_missing_table_says_where_it_looked_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(tmp_path / "environment"))
    monkeypatch.setattr(datasets, "user_cache_dir", lambda name: str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"mase_paper\.datasets\.get\('imdb'\)") as caught:
        datasets.load("imdb", "train")
    assert re.search(r"imdb\.parquet in .*environment or .*cache", str(caught.value))
    with pytest.raises(DataError, match="given") as caught:
        datasets.load("imdb", "train", tmp_path / "given")
    assert "environment" not in str(caught.value)


def test_table_is_found_by_variable_then_in_the_cache(table, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(table))
    monkeypatch.setattr(datasets, "user_cache_dir", lambda name: str(table / "absent"))
    assert len(datasets.load("imdb", "test")) == 2
    monkeypatch.delenv("MASE_DATA")
    with pytest.raises(DataError):
        datasets.load("imdb", "test")
    monkeypatch.setattr(datasets, "user_cache_dir", lambda name: str(table))
    assert len(datasets.load("imdb", "test")) == 2


def test_a_given_folder_without_the_table_is_not_replaced_by_another(table, tmp_path, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(table))
    with pytest.raises(DataError):
        datasets.load("imdb", "test", tmp_path / "elsewhere")


def test_unknown_names(table):
    with pytest.raises(UnknownNameError, match="did you mean 'imdb'"):
        datasets.load("imbd", "train", table)
    with pytest.raises(OptionError, match="no split 'dev', expected one of: test, train, validation"):
        datasets.load("imdb", "dev", table)


def test_unreadable_table(tmp_path):
    path = tmp_path / "imdb.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="expected a Parquet table"):
        datasets.load("imdb", "train", tmp_path)
    pq.write_table(pa.table({"split": ["train"], "text": ["a"]}), path)
    with pytest.raises(DataError, match="columns split, id, label, text"):
        datasets.load("imdb", "train", tmp_path)


def test_without_pyarrow_nothing_is_downloaded(table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for act in (lambda: datasets.load("imdb", "train", table), lambda: datasets.get("imdb", tmp_path / "cache")):
        with pytest.raises(MissingDependencyError, match=r"pip install 'mase-xai\[data\]'"):
            act()


@needs_reuters
@pytest.mark.parametrize("name", list(datasets.DATASETS))
@pytest.mark.slow
def test_real_tables_count_what_a_rebuild_must(name):
    dataset = datasets.DATASETS[name]
    train, test = (datasets.load(name, split, SHARED) for split in ("train", "test"))
    assert (len(train), len(test), len(set(train.labels))) == (dataset.n_train, dataset.n_test, dataset.n_labels)
    assert len(set(train.ids)) == len(train)
    assert set(test.labels) <= set(train.labels)


def test_validation_is_the_part_of_train_that_was_not_trained_on(tmp_path):
    from mase_paper.datasets import load, split_off, write_rows

    rows = [{"split": "train", "id": i, "label": "pos", "rating": 9, "text": f"text {i}"} for i in range(40)]
    write_rows(tmp_path / "imdb.parquet", rows)
    train, validation = (load("imdb", split, tmp_path) for split in ("train", "validation"))
    held = split_off(40, 0.1)[1]
    assert validation.split == "validation"
    assert validation.texts == tuple(train.texts[row] for row in held)
    assert validation.ids == tuple(train.ids[row] for row in held)
    assert validation.sha256 == train.sha256
    assert len(validation) == 4


PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


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


@pytest.mark.slow
def test_a_line_longer_than_any_text_is_an_error():
    with pytest.raises(DataError, match="line 2 of 'x' is longer"):
        list(lines(io.BytesIO(b"a\n" + bytes(1 << 28)), "'x'"))


def test_what_is_not_packed_is_read_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a\r\nb")
    with open_unpacked(tmp_path / "a.txt") as file:
        assert list(lines(file, "a")) == [b"a\r\n", b"b"]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_lines_end_as_they_may(tmp_path, end):
    path = tmp_path / "a.txt"
    path.write_bytes(f"good film{end}bad film{end}".encode())
    assert [(line.number, line.text) for line in read_lines(path)] == [(1, "good film"), (2, "bad film")]


def test_a_table_in_another_encoding_says_how_to_convert_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("text\ngood film\n".encode("utf-16"))
    with pytest.raises(DataError, match="iconv -f UTF-16"):
        list(read_rows(path, ["text"]))
