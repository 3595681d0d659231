"""Tests of `mase run`."""

import json
import warnings

import pytest
from click.testing import CliRunner
from tests.labelled_texts import TEXTS, predict

import mase
from mase.cli import main

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


@pytest.fixture
def cli(monkeypatch, tmp_path):
    """Run `mase ...` in an empty folder, on a black box that takes the place of every model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mase.models.open.load", lambda *_a, **_k: mase.models.Callable(predict, labels=["neg", "pos"]))

    def run(command, *arguments):
        here = ["--engine", "here", "--n-samples", "20"] if command == "run" else []
        return CliRunner().invoke(main, [command, *here, *map(str, arguments)])

    return run


@pytest.fixture
def table(tmp_path):
    rows = [{"id": f"r{i}", "text": text, "group": i % 2} for i, text in enumerate(TEXTS)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_table_is_explained_into_a_folder(cli, table, tmp_path):
    arguments = (table, "-o", "out", "--id-column", "id", "--keep", "group=cohort", "--part-size", 2, "--target", "pos")
    found = cli("run", *arguments)
    assert (found.exit_code, found.stdout) == (0, "")
    run = mase.open_run(tmp_path / "out")
    assert run.texts()["id"].to_pylist() == [f"r{i}" for i in range(len(TEXTS))]
    assert run.texts()["cohort"].to_pylist() == [str(i % 2) for i in range(len(TEXTS))]
    assert json.loads(run.texts()["document"][0].as_py())[0]["text"] == TEXTS[0]
    assert set(run.responses()["response"].to_pylist()) == {"pos"}
    assert run.manifest.asked.method["n_samples"] == 20
    assert run.texts()["evidence"].null_count == len(TEXTS)
    assert "3 of 3 parts finished" in found.stderr
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.*")}
    assert cli("run", *arguments).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.*")} == before
    other = cli("run", *arguments[:-1], "neg")
    assert other.exit_code == 1
    assert "--fresh" in other.stderr


def test_kept_columns_are_a_list_as_in_a_csv_file(cli, tmp_path):
    rows = [{"text": text, "the group, now": "x", "id": str(i)} for i, text in enumerate(TEXTS)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = cli("run", "a.jsonl", "-o", "out", "--keep", '"the group, now=group", id=number')
    assert found.exit_code == 0, found.stderr
    texts = mase.open_run(tmp_path / "out").texts()
    assert (texts["group"][0].as_py(), texts["number"][1].as_py()) == ("x", "1")


def test_the_best_words_are_tested_on_the_model(cli, table, tmp_path):
    assert cli("run", table, "-o", "out", "--evidence", 2).exit_code == 0
    evidence = mase.open_run(tmp_path / "out").texts()["evidence"].to_pylist()
    assert [len(json.loads(found)["without"]) for found in evidence[:2]] == [2, 2]


def test_shards_and_texts_that_are_not_kept(cli, table, tmp_path):
    for shard, n in (("2/2", 1), ("1/2", 3)):
        found = cli("run", table, "-o", "out", "--part-size", 2, "--no-texts", "--shard", shard)
        assert found.exit_code == 0
        assert f"{n} of 3 parts finished" in found.stderr
    texts = mase.open_run(tmp_path / "out").texts()
    assert len(texts) == len(TEXTS)
    assert texts["document"].null_count == len(TEXTS)


def test_failures_are_listed_and_set_the_exit_code(cli, tmp_path):
    (tmp_path / "a.csv").write_text("text,id\na good film,1\n" + ",2\n" * 22 + '"a dull film",3,4\n')
    found = cli("run", "a.csv", "-o", "out", "-q")
    lines = found.stderr.splitlines()
    assert found.exit_code == 1
    assert lines[1].startswith("mase: error: text 2, id '1': EmptyTextError")  # numbers begin at 1, and ids at 0
    assert len(lines) == 1 + 20 + 1
    assert "3 more texts failed, 23 in all" in lines[-1]
    query = lines[-1][lines[-1].index("SELECT") :]
    duckdb = pytest.importorskip("duckdb")
    assert len(duckdb.sql(query).fetchall()) == 23


def test_a_warning_is_one_line_in_the_words_of_the_command(cli, table):
    assert cli("run", table, "-o", "out", "-q").exit_code == 0
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warning, told = cli("run", table, "-o", "out", "-q").stderr.splitlines()
    assert warning.startswith("mase: warning: the model")
    assert "--fresh" in warning
    assert "finished" in told


def test_a_dry_run_writes_nothing(cli, table, tmp_path):
    table.write_text(table.read_text() + '{"text": null}\n')
    found = cli("run", table, "--dry-run", "--engine", "local", "--jobs", 4, "--part-size", 2)
    assert found.exit_code == 0, found.stderr
    assert f"{len(TEXTS) + 1} texts in 4 parts of 2" in found.stdout
    assert "1 text missing or not readable" in found.stdout
    assert f"{len(TEXTS)} texts explained for this estimate" in found.stdout
    assert "with 4 workers" in found.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_dry_run_counts_the_workers_that_the_run_has(cli, table):
    assert "with 1 worker," in cli("run", table, "--dry-run", "--engine", "here").stdout
    found = cli("run", table, "--dry-run", "--engine", "here", "--jobs", 2)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "use --engine local" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["a.jsonl"], 2, "expected --output RUN"),
        (["a.jsonl", "-o", "out", "--engine", "here", "--jobs", "2"], 1, "got 2 jobs with the engine 'here'"),
        ([], 2, "Missing argument"),
        (["", "-o", "out"], 2, "empty file name"),
        (["a.jsonl", "-o", ""], 2, "empty --output"),
        (["a.jsonl", "-o", "out", "--where", "text=none"], 1, "'none' in column 'text'"),
        (["a.jsonl", "-o", "out", "--where", "fold=1"], 1, "columns in --where"),
        (["a.jsonl", "-o", "out", "--engine", "local", "--address", "a:1"], 1, "got an address or GPUs per worker"),
        (["-", "-o", "out"], 1, "standard input"),
        ([".", "-o", "out"], 2, "expected another place"),
        (["a.jsonl", "-o", "out", "--shard", "3/2"], 1, "expected I/N"),
        (["a.jsonl", "-o", "out", "--keep", "error"], 1, "COLUMN=their_error"),
        (["a.jsonl", "-o", "out", "--text-column", "review"], 1, "with --text-column"),
        (["a.jsonl", "-o", "out", "--timeout", "0"], 2, "timeout"),
        (["a.jsonl", "-o", "a.jsonl"], 1, "a.jsonl"),
    ],
)
def test_commands_that_are_refused(cli, table, tmp_path, arguments, code, message):
    found = cli("run", *arguments)
    assert (found.exit_code, found.stdout) == (code, "")
    assert message in found.stderr
    assert not (tmp_path / "out").exists()


def test_status_of_a_run(cli, table, tmp_path):
    assert cli("status", "out").exit_code == 1
    cli("run", table, "-o", "out", "--part-size", 2, "--shard", "1/2")
    lines = cli("status", "out").stdout.splitlines()
    assert lines[0] == "4 of 6 texts (66 %), 2 of 3 parts, 0 failed"
    assert "the same command continues it" in lines[1]
    assert "samples 20" in lines[-1]
    assert "a.jsonl" in lines[-1]


def test_ctrl_c_says_which_command_continues(cli, table, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mase_corpora.terminal.run", interrupted)
    monkeypatch.setattr("sys.argv", ["mase", "run", "my reviews.csv", "-o", "out"])
    found = cli("run", table, "-o", "out")
    assert found.exit_code == 130
    assert found.stderr.endswith("To continue: mase run 'my reviews.csv' -o out\n")
    assert "error" not in found.stderr
