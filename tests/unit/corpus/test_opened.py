"""Tests of the format of runs: what is written is read back, and nothing else is taken for a part."""

import os

import msgspec
import pyarrow as pa
import pytest
from tests.runs import COMPARED

import mase
from mase.corpus.columns import TABLES, Rows
from mase.corpus.folder import Folder, part_name
from mase.corpus.local_storage import LocalStorage
from mase.corpus.lock import FOLDER, Owner
from mase.corpus.manifest import Asked, Manifest
from mase.corpus.opened import open_run
from mase.corpus.plan import Shard
from mase.corpus.source import Item
from mase.corpus.status import read_status
from mase.corpus.storage import storage_of
from mase.errors import DataError, OptionError

TEXTS = ("good film", "bad \ud800 film", "dull plot, good cast")


def judge(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


def manifest(**changes):
    asked = {
        "model": {"name": "judge", "sha256": None}, "method": {"name": "mase"}, "seed": 0, "target": None,
        "input": {}, "n_texts": 3, "part_size": 2, "kept": ("label",),
    }  # fmt: skip
    return Manifest(asked=Asked(**asked | changes), made_with={}, labels=("neg", "pos"), created="2026-01-01")


def tables(rows, worker="1"):
    explainer = mase.Explainer(judge, n_samples=16)
    made = Rows(("label",), documents=True, worker=worker)
    for row in rows:
        item = Item(row, str(row), TEXTS[row], (None if row else "pos",))
        try:
            made.add(item, explainer(TEXTS[row]), 0.1)
        except mase.MaseError as error:
            made.add_failure(item, type(error).__name__, str(error), 0.0)
    return made.tables()


@pytest.fixture
def folder(tmp_path):
    folder = Folder(storage_of(tmp_path / "run"))
    assert folder.create(manifest())
    folder.write(1, tables([2]), {})
    folder.write(0, tables([0, 1]), {})
    return folder


def test_what_is_written_is_read_back_in_order(folder):
    run = open_run(folder.place)
    assert (len(run), run.parts, run.is_complete) == (3, (0, 1), True)
    assert run.texts().column("row").to_pylist() == [0, 1, 2]
    assert run.texts().column("error").to_pylist() == [None, "InvalidTextError", None]
    assert run.texts().column("label").to_pylist() == ["pos", None, None]
    assert run.manifest == manifest()
    assert run.responses().column("response").to_pylist() == ["1", "1"]
    units = run.units().to_pylist()
    found = mase.Explainer(judge, n_samples=16)(TEXTS[2])
    assert [unit["score"] for unit in units if unit["row"] == 2] == found.scores.tolist()
    by_rank = sorted((unit for unit in units if unit["row"] == 2), key=lambda unit: unit["rank"])
    assert [unit["position"] for unit in by_rank] == found.order.tolist()
    assert len(run.timings()) == 3


def test_a_run_says_what_it_is(folder, monkeypatch):
    assert "3 texts, judge explained with mase; 2 of 2 parts finished" in repr(open_run(folder.place))
    run = open_run(folder.place)

    def unreachable(_):
        raise DataError("the network is down")

    monkeypatch.setattr(Folder, "finished", unreachable)
    assert "cannot be read" in repr(run)


def test_equal_tables_make_equal_files(folder, tmp_path):
    before = {table: folder.storage.read(f"{table}/{part_name(0)}") for table in COMPARED}
    folder.write(0, tables([0, 1], worker="another"), {})
    assert {table: folder.storage.read(f"{table}/{part_name(0)}") for table in COMPARED} == before


def test_a_part_without_texts_is_not_finished(folder):
    folder.storage.delete(f"texts/{part_name(0)}")
    run = open_run(folder.place)
    assert run.parts == (1,)
    assert not run.is_complete
    assert set(run.units().column("row").to_pylist()) == {2}


def test_drafts_and_other_files_are_no_parts(folder, tmp_path):
    texts = tmp_path / "run" / "texts"
    for name in ("part-00002.parquet", ".part-00003.parquet.0123456789abcdef", "part-3.parquet", "part-000003.parquet"):
        (texts / name).write_bytes(b"")
    assert open_run(folder.place).parts == (0, 1)
    folder.clean([3])
    assert not (texts / ".part-00003.parquet.0123456789abcdef").exists()


def test_a_manifest_is_never_replaced(folder):
    assert not folder.create(manifest(seed=1))
    assert folder.manifest() == manifest()


def test_other_columns_are_refused(folder):
    folder.storage.write(f"texts/{part_name(0)}", parquet(pa.table({"id": ["0"]})))
    with pytest.raises(DataError):
        open_run(folder.place).texts()


def parquet(table):
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"schema": "mase.run/9"}', b'{"schema": "mase.run/1"}'])
def test_a_broken_manifest_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(DataError):
        open_run(tmp_path)


def test_a_folder_without_manifest_is_no_run(tmp_path):
    with pytest.raises(DataError):
        open_run(tmp_path)


@pytest.mark.parametrize("read", [open_run, read_status, mase.summarise])
def test_a_run_without_a_result_names_the_process_that_works_on_it(tmp_path, read):
    owner = Owner.this_process(Shard(1, 1))
    storage_of(tmp_path).write(f"{FOLDER}/{owner.name}", msgspec.json.encode(owner))
    with pytest.raises(DataError, match=f"process {os.getpid()} "):
        read(tmp_path)
    gone = msgspec.structs.replace(owner, start="long ago")
    storage_of(tmp_path).write(f"{FOLDER}/{owner.name}", msgspec.json.encode(gone))
    with pytest.raises(DataError, match="expected the folder of a run"):
        read(tmp_path)


def test_kept_columns_may_not_take_our_names():
    from mase.corpus.columns import schema

    assert schema("texts", ["label"]).names[:4] == ["id", "row", "document", "label"]
    for kept in (["prediction"], ["label", "label"]):
        with pytest.raises(DataError):
            schema("texts", kept)
    assert set(TABLES) == {"texts", "responses", "units", "timings"}


def test_storage_in_memory_and_on_disk_agree(tmp_path):
    pytest.importorskip("fsspec")
    for storage in (LocalStorage(tmp_path / "new"), storage_of("memory://runs/new")):
        assert storage.names("texts") == []
        assert storage.create("run.json", b"{}")
        storage.write("texts/a", b"one")
        assert storage.create("texts/b", b"two")
        assert not storage.create("texts/b", b"three")
        assert storage.read("texts/b") == b"two"
        assert (storage.exists("texts/a"), storage.exists("texts")) == (True, False)
        assert storage.names("texts") == ["a", "b"]
        assert storage.size("texts/a") == 3
        storage.delete("texts/b")
        storage.delete("texts/b")
        assert storage.names("texts") == ["a"]
        with pytest.raises(DataError):
            storage.read("texts/none")


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to(path.name)],
    ids=["pipe", "folder", "link out of the folder", "link to itself"],
)
def test_nothing_but_regular_files_of_the_folder_is_read(folder, tmp_path, make):
    path = tmp_path / "run" / "units" / part_name(0)
    path.unlink()
    make(path)
    with pytest.raises(DataError):
        open_run(folder.place).units()


def test_a_plan_of_any_size_is_opened(tmp_path):
    folder = Folder(storage_of(tmp_path / "run"))
    folder.create(manifest(n_texts=10**15))
    assert open_run(folder.place).parts == ()


def test_the_tables_of_a_run_that_is_under_way_have_the_same_texts(folder):
    folder.storage.delete(f"texts/{part_name(0)}")
    run = open_run(folder.place)
    assert run.texts().column("row").to_pylist() == [2]
    folder.write(0, tables([0, 1]), {})
    assert set(run.units().column("row").to_pylist()) == {2}
    assert open_run(folder.place).is_complete


@pytest.mark.parametrize("wrong", [None, 3, b"run"])
def test_what_is_neither_a_run_nor_a_path(wrong):
    for read in (open_run, mase.summarise, lambda run: mase.compare(run, run)):
        with pytest.raises(OptionError, match=f"run is of type {type(wrong).__name__}, expected a Run"):
            read(wrong)
