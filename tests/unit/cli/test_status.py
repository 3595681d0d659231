"""Tests of `mase status`."""

import json
import os

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner

from mase.cli import main
from mase.corpus.columns import TABLES, schema
from mase.corpus.folder import Folder
from mase.corpus.lock import FOLDER, Owner
from mase.corpus.manifest import Asked, Manifest
from mase.corpus.plan import Shard
from mase.corpus.storage import storage_of

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
