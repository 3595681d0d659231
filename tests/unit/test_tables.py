"""Tables of texts as people have them: packed, separated by semicolons, or not what their name says."""

import bz2
import gzip
import io
import lzma

import pytest
from click.testing import CliRunner

import mase
from mase.cli import main
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


@pytest.mark.parametrize("packing", PACKED)
def test_damaged_packed_files_are_typed_errors(tmp_path, packing):
    whole = PACKED[packing](CSV.encode() * 100)
    for content in (whole[: len(whole) // 2], CSV.encode(), whole[:10] + b"\xff\xff\xff" + whole[13:]):
        with pytest.raises(DataError, match=r"a\.csv"):
            read(tmp_path / f"a.csv{packing}", content)


def test_a_file_that_unpacks_to_far_more_than_text_does_is_an_error(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"good,pos\n" * (2 << 20)))
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


@pytest.mark.parametrize(("name", "remedy"), [("a.xlsx", "CSV"), ("a.json", "jsonl"), ("a.csv.zip", "unpack")])
def test_tables_that_cannot_be_read_say_what_to_do(tmp_path, name, remedy):
    with pytest.raises(DataError, match=remedy):
        read(tmp_path / name, CSV.encode())


def test_a_packed_file_by_another_name_says_what_to_do(tmp_path):
    with pytest.raises(DataError, match=r"name it \.gz"):
        read(tmp_path / "a.csv", gzip.compress(CSV.encode()))


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mase.models.load", lambda *_a, **_k: mase.models.Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    )
    return lambda *arguments: CliRunner().invoke(main, arguments)


@pytest.mark.parametrize(
    ("arguments", "shown", "hidden"),
    [
        (["explain", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--text-column", "review"], "--text-column", "text_column"),
        (["evaluate", "-i", "a.csv", "--label-column", "stars"], "--label-column", "label_column"),
        (["explain", "one two three", "--method", "occlusion", "--n-samples", "2"], "--n-samples", "n_samples"),
    ],
)
def test_messages_name_options_as_they_are_typed(cli, tmp_path, arguments, shown, hidden):
    (tmp_path / "a.csv").write_text(CSV)
    found = cli(*arguments)
    assert found.exit_code == 1
    assert shown in found.stderr
    assert hidden not in found.stderr


def test_what_the_user_named_is_shown_as_it_is(cli, tmp_path):
    (tmp_path / "a.csv").write_text("n_samples,label\na,b\n")
    assert "'n_samples'" in cli("explain", "-i", "a.csv").stderr
    assert "'text_column.csv'" in cli("explain", "-i", "text_column.csv").stderr
