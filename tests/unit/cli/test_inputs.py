"""Tests of `mase.cli.inputs`."""

import gzip
import json
import os
import subprocess

import pytest
from click.testing import CliRunner

import mase
from mase.attribution.json import load_many
from mase.cli import main

GOOD, BAD = "a good film", "a dull film"


def test_standard_input(mase_cli):
    for arguments in (["-i", "-"], []):
        found = mase_cli("--json", *arguments, input=f"{GOOD}\n{BAD}\n")
        assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]
    assert mase_cli("--json", input="").exit_code == 1
    assert "has no text" in mase_cli("--json", input="\n \n").stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "has no text"), (b"\n\n", "has no text"), (b"\xff\xfea\x00", "UTF-16"), (None, "cannot read")],
)
def test_files_without_texts(mase_cli, tmp_path, content, message):
    source = tmp_path / "in.txt"
    if content is not None:
        source.write_bytes(content)
    found = mase_cli("-i", str(source), "--json")
    assert found.exit_code == 1
    assert message in found.stderr
    assert "in.txt" in found.stderr
    assert found.stdout == ""


def test_a_named_pipe_is_read_once(mase_cli, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'a good film\\na dull film\\n' > '{pipe}'"]):
        found = mase_cli("-i", str(pipe), "--json")
    assert found.stdout.count("\n") == 2


def write_table(path, column):
    """Write two texts (and labels, which are of no use here) in the format of the path's ending."""
    rows = [{column: GOOD, "label": 1}, {column: BAD, "label": None}]
    if path.suffix == ".parquet":
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        path.write_text(
            "".join(f"{first}{separator}{second}\n" for first, second in [rows[0], *map(dict.values, rows)])
        )
    return path


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_are_read_as_tables(mase_cli, tmp_path, ending):
    found = mase_cli("-i", str(write_table(tmp_path / f"a.{ending}", "text")), "--json")
    assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]
    assert found.exit_code == 0
    other = str(write_table(tmp_path / f"b.{ending}", "review"))
    assert mase_cli("-i", other, "--json", "--text-column", "review").stdout.count("\n") == 2
    missing = mase_cli("-i", other, "--json")
    assert (missing.exit_code, missing.stdout, missing.stderr.count("mase: error:")) == (1, "", 1)
    assert "row 1: no column 'text', expected one of: 'review', 'label'" in missing.stderr


def test_a_row_that_cannot_be_used_costs_that_row(mase_cli, tmp_path):
    source, output = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"text": "a good film"}\n{"text": \n\n{"review": "a film"}\n{"text": "a dull film"}\n')
    found = mase_cli("-i", str(source), "-q", "-o", str(output))
    assert found.exit_code == 1
    assert [getattr(result, "line", result) for result in load_many(output)][1:3] == [2, 3]
    assert "row 2: line 2 is not JSON" in found.stderr
    assert "row 3: no column 'text', expected one of: 'review'" in found.stderr
    assert "2 texts explained, 2 failed" in found.stderr


def test_a_table_is_read_as_its_texts_are_explained(mase_cli, tmp_path):
    """A pipe is not counted first; its rows come one by one."""
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"printf 'text\\na good film\\na dull film\\n' > '{pipe}'"]):
        found = mase_cli("-i", str(pipe), "--json")
    assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == [GOOD, BAD]


@pytest.mark.parametrize("name", ["in.txt", "in.csv"])
def test_a_file_that_changes_while_it_is_read_is_an_error(mase_cli, monkeypatch, tmp_path, name):
    source, output = tmp_path / name, tmp_path / "out.jsonl"
    texts = [f"a good film number {number}" for number in range(4)]
    heading = "text\n" if source.suffix == ".csv" else ""
    source.write_text(heading + "".join(f"{text}\n" for text in texts))
    call = mase.Explainer.__call__

    def explained(explainer, text, **more):
        if text == texts[1]:
            source.write_text(heading + "".join(f"{text}\n" for text in texts[::-1]) + "one more\n")
        return call(explainer, text, **more)

    monkeypatch.setattr(mase.Explainer, "__call__", explained)
    found = mase_cli("-i", str(source), "-q", "-o", str(output))
    assert (found.exit_code, len(load_many(output))) == (1, 2)
    assert f"'{source}' has changed since it was first read" in found.stderr
    assert "2 texts left without a result" in found.stderr


def test_a_column_needs_a_table(mase_cli, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text(GOOD)
    for arguments in ([GOOD], ["-i", str(source)], ["-i", "-"]):
        found = mase_cli(*arguments, "--text-column", "text")
        assert (found.exit_code, "got --text-column without a table" in found.stderr) == (2, True)
        assert mase_cli(*arguments, input=GOOD).exit_code == 0


@pytest.fixture
def cli(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "mase.models.open.load", lambda *_a, **_k: mase.models.Callable(lambda texts: [[0.5, 0.5]] * len(texts))
    )
    return lambda *arguments, **given: CliRunner().invoke(
        main, ["explain", "--n-samples", "16", "--json", *arguments], **given
    )


@pytest.mark.parametrize(
    "name", ["data.xlsx", "a.csv.zst", "a.ZIP", "a.docx", "a.pdf", "a.tar", "a.json", "a.feather", "a.pkl"]
)
def test_a_file_that_is_no_text_by_its_name_is_refused(cli, tmp_path, name):
    (tmp_path / name).write_text("text,label\na good film,1\n")
    found = cli("-i", name)
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)
    assert name in found.stderr


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(b"a good film\n", mtime=0),
        b"PK\x03\x04\x14\x00",
        b"BZh91AY",
        b"%PDF-1.7\n%\xe2\xe3\n",
        b"\x28\xb5\x2f\xfd\x04",
        b"PAR1\x15",
    ],
)
def test_a_file_that_is_no_text_by_its_beginning_is_refused(cli, tmp_path, content):
    (tmp_path / "data").write_bytes(content)
    for found in (cli("-i", "data"), cli(input=content)):
        assert (found.exit_code, found.stdout, found.stderr.count("mase: error:")) == (1, "", 1)


@pytest.mark.parametrize("name", ["data", "data.text", "data.log", "a.b.md", ".hidden", "data.txt"])
def test_text_of_any_other_name_is_read_by_line(cli, tmp_path, name):
    (tmp_path / name).write_text("a good film\nPK a film\n")
    found = cli("-i", name)
    assert [json.loads(line)["document"][0]["text"] for line in found.stdout.splitlines()] == [
        "a good film",
        "PK a film",
    ]


def test_an_input_that_cannot_be_is_a_typed_error(cli):
    for arguments in (["-i", "a\0b"], ["text", "-o", "a\0b"], ["text", "--html", "a\0b"], ["-i", "."]):
        found = cli(*arguments)
        assert (found.exit_code, found.stderr.count("mase: error:")) == (1, 1)
