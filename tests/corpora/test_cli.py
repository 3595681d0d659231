"""Tests of `mase status`; Tests of `mase summary`."""

import io
import json
import os

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.runs import WEIGHTS, classifier, made_up_texts, write_run
from tests.summaries import group, summary, word

import mase
from mase.cli import main
from mase.render.marks import Scale
from mase.sources.rows import Item
from mase.testing import LogisticClassifier
from mase_corpora.folder import Folder
from mase_corpora.lock import FOLDER, Owner
from mase_corpora.plan import Asked, Manifest, Shard
from mase_corpora.schema import TABLES, Rows, schema
from mase_corpora.storage import storage_of
from mase_corpora.summary import Distribution
from mase_corpora.terminal import show

FILES = [{"name": f"{i}.csv", "sha256": "", "size": 0, "rows": 20} for i in range(5)]


@pytest.fixture
def folder(tmp_path):
    """A run of 100 texts in parts of 32, of which the first (with two failures) and the last are finished."""
    folder = Folder(storage_of(tmp_path / "out"))
    asked = Asked(
        model={"name": "box"}, method={"name": "mase", "n_samples": 200, "link": "margin"}, seed=3, target="pos",
        input={"tables": FILES}, n_texts=100, part_size=32,
    )  # fmt: skip
    folder.create(Manifest(asked=asked, made_with={}, labels=("neg", "pos"), created="2026-11-22T00:00:00Z"))
    for part, rows in ((0, range(32)), (3, range(96, 100))):
        texts = [{"id": str(row), "row": row, "error": "ModelError" if row in (3, 5) else None} for row in rows]
        tables = {name: schema(name).empty_table() for name in TABLES}
        folder.write(part, tables | {"texts": pa.Table.from_pylist(texts, schema=schema("texts"))}, {})
    return folder


def locked(folder, shard, **changes):
    """Lock a shard of the run for this process, or another one."""
    owner = msgspec.structs.replace(Owner.this_process(shard), **changes)
    folder.storage.write(f"{FOLDER}/{owner.name}", msgspec.json.encode(owner))


def status(folder, *arguments):
    found = CliRunner().invoke(main, ["status", folder.place, *arguments])
    assert found.exit_code == 0, found.stderr
    return found.stdout


def test_a_run_that_nobody_works_on(folder):
    first, state, settings = status(folder).splitlines()
    assert first == "36 of 100 texts (36 %), 2 of 4 parts, 2 failed"
    assert "the same command continues it" in state
    assert settings == (
        "model box, method mase, samples 200, link margin, target pos, seed 3, input 0.csv, 1.csv, 2.csv and 2 more"
    )


def test_processes_at_work(folder):
    locked(folder, Shard(1, 3), progress={"per_second": 2.0, "seconds_left": 90.0})
    locked(folder, Shard(2, 3), progress={"per_second": 0.5, "seconds_left": 30.0})
    locked(folder, Shard(3, 3), start="long ago", progress={"per_second": 9.0, "seconds_left": 999.0})
    lines = status(folder).splitlines()
    assert lines[1] == "2.5 texts per second, 1 min 30 s left"
    assert sum(f"process {os.getpid()} on" in line and "at work" in line for line in lines) == 2
    assert sum("shard 3/3: ended before it had finished" in line for line in lines) == 1
    found = json.loads(status(folder, "--json"))
    assert (found["schema"], found["n_texts_done"], found["n_failed"]) == ("mase.status/1", 36, 2)
    assert (found["texts_per_second"], found["seconds_left"], found["is_complete"]) == (2.5, 90.0, False)
    assert [driver["is_alive"] for driver in found["drivers"]] == [True, True, False]
    assert found["run"]["asked"]["method"]["n_samples"] == 200


def test_texts_are_not_read(folder, monkeypatch):
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", None)
    monkeypatch.setattr("pyarrow.parquet.read_table", None)
    assert "2 failed" in status(folder)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"schema": "mase.run/1", "asked": {}}'])
def test_folders_that_are_no_run(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    found = CliRunner().invoke(main, ["status", str(tmp_path)])
    assert (found.exit_code, found.stdout, found.stderr.count("mase: error: ")) == (1, "", 1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("summary") / "run"
    texts = [f"{'good' if row % 3 else 'bad'} \x1b[31m plot number {row} in town" for row in range(60)]
    explainer = mase.Explainer(
        LogisticClassifier({"good": 2.0, "bad": -2.0, "plot": 0.1}), method="mase-mask", n_samples=16
    )
    rows = Rows(("label",), documents=True, worker="1")
    for row, text in enumerate(texts):
        rows.add(Item(row, str(row), text, (str(row % 2),)), explainer(text), 0.1)
    asked = Asked(
        model={"name": "m\x1b[31m"}, method={"name": "mase"}, seed=0, target=None, input={}, n_texts=60, part_size=64,
        kept=("label",),
    )  # fmt: skip
    folder = Folder(storage_of(place))
    folder.create(Manifest(asked=asked, made_with={}, labels=("0", "1"), created=""))
    folder.write(0, rows.tables(), {})
    return str(place)


@pytest.mark.slow
def test_the_tables_fit_a_terminal_and_hold_no_control_character(run, tmp_path):
    result = CliRunner().invoke(main, ["summary", run, "--label-column", "label", "--csv", str(tmp_path / "csv")])
    assert result.exit_code == 0, result.output
    assert "good" in result.stdout
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (tmp_path / "csv" / "words.csv").is_file()


@pytest.mark.parametrize("tables", ["report", "report/tables"])
@pytest.mark.slow
def test_tables_may_go_into_the_folder_of_a_new_report(run, tmp_path, tables):
    options = ["--html", str(tmp_path / "report"), "--csv", str(tmp_path / tables)]
    result = CliRunner().invoke(main, ["summary", run, *options])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "report" / "index.html").is_file()
    assert (tmp_path / tables / "words.csv").is_file()


@pytest.mark.slow
def test_a_run_that_is_not_finished_is_said_to_be_so(run, tmp_path):
    assert "not finished" not in CliRunner().invoke(main, ["summary", run]).stdout
    folder = write_run(tmp_path / "run", made_up_texts(40), classifier(WEIGHTS), n_samples=16)
    (folder / "texts" / "part-00001.parquet").unlink()
    assert mase.summarise(folder).overview.n_left == 16
    result = CliRunner().invoke(main, ["summary", str(folder)])
    assert "24 of 40 texts; the run is not finished" in result.stdout


@pytest.mark.parametrize("width", [36, 44, 58, 80])
@pytest.mark.slow
def test_no_number_is_cut_off(run, width):
    found = mase.summarise(run, label_column="label", min_texts=10)
    scale = Scale(0.0, 2)
    wanted = {f"{scale.signed(row.effect)} ± {scale.error((row.high - row.low) / 2)}" for row in found.words}
    console = Console(file=io.StringIO(), width=width)
    show(found, console)
    text = console.file.getvalue()
    assert len(wanted) > 1
    assert all(number in text for number in wanted)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize(
    ("effects", "shown"),
    [
        ((0.5, 0.2), ("+0.50 ± 0.10", "+0.20 ± 0.10")),
        ((0.5, 0.004), ("+0.500 ± 0.100", "+0.004 ± 0.100")),
        ((0.5, 1e-9), ("+0.5000 ± 0.1000", "0.0000 ± 0.1000")),
        ((4e-5, 2e-5), ("+4.0e-05 ± 1e-01", "+2.0e-05 ± 1e-01")),
        ((12345.0, 0.0), ("+12,345.00 ± 0.10", "0.00 ± 0.10")),
    ],
)
def test_small_effects_do_not_look_like_none(effects, shown):
    words = [word(f"word {number}", effect=effect) for number, effect in enumerate(effects)]
    differences = [group(difference=effect) for effect in effects]
    console = Console(file=io.StringIO(), width=80)
    show(summary(words=words, phrases=(), groups=differences), console)
    text = console.file.getvalue()
    assert all(number in text for number in shown)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


@pytest.mark.slow
def test_examples_show_words_in_context(run):
    result = CliRunner().invoke(main, ["summary", run, "--examples"])
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    shown = [line for line in result.stdout.splitlines() if "good" in line and "plot number" in line]
    assert len(shown) >= 2
    assert not any("plot number" in line for line in CliRunner().invoke(main, ["summary", run]).stdout.splitlines())


@pytest.mark.parametrize(("r2", "shown"), [(0.9996, "0.99"), (1.0, "1.00")])
def test_no_share_of_variance_is_rounded_up_to_all_of_it(r2, shown):
    console = Console(file=io.StringIO(), width=80)
    show(summary(quality=(Distribution("r2", 5, *(r2,) * 8),)), console)
    assert f"at least {shown} (5)" in console.file.getvalue()
    assert ("1.00" in console.file.getvalue()) == (r2 == 1)


def test_html_and_parquet(run, tmp_path):
    options = ["--html", str(tmp_path / "html"), "--parquet", str(tmp_path / "tables")]
    result = CliRunner().invoke(main, ["summary", run, *options])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "html" / "index.html").is_file()
    assert (tmp_path / "tables" / "phrases.parquet").is_file()


def test_a_column_that_was_not_kept(run):
    result = CliRunner().invoke(main, ["summary", run, "--group-column", "country"])
    assert result.exit_code == 1
    assert "country" in result.stderr


def test_no_file_of_the_user_is_replaced(run, tmp_path):
    (tmp_path / "words.csv").write_text("mine")
    result = CliRunner().invoke(main, ["summary", run, "--csv", str(tmp_path)])
    assert result.exit_code == 1
    assert "words.csv" in result.stderr
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("words.csv", "mine")]
