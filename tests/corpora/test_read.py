"""Tests of `mase_corpora.read`."""

import io
import os
import threading

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.runs import COMPARED

import mase
from mase.errors import DataError, OptionError
from mase.sources.rows import Item
from mase_corpora import read as failures
from mase_corpora.folder import Folder, part_name
from mase_corpora.lock import FOLDER, Owner
from mase_corpora.plan import Asked, Manifest, Shard
from mase_corpora.read import check_rows, open_run, read_status
from mase_corpora.schema import TABLES, Rows, schema
from mase_corpora.storage import LocalStorage, storage_of


@pytest.fixture
def folder(tmp_path):
    """Two parts, the second with a text that failed."""
    folder = Folder(storage_of(tmp_path))
    for part, errors in enumerate([[None, None], [None, "EmptyTextError"]]):
        rows = [{"id": f"r{i}", "row": 2 * part + i, "error": e, "message": e and "why"} for i, e in enumerate(errors)]
        tables = {name: schema(name).empty_table() for name in TABLES}
        folder.write(part, tables | {"texts": pa.Table.from_pylist(rows, schema=schema("texts"))}, {})
    return folder


def test_failures_are_counted_and_read(folder, monkeypatch):
    assert [failures.count_failures(folder, part) for part in (0, 1)] == [0, 1]
    assert list(failures.read_failures(folder, (0, 1))) == [failures.Failure("r1", 3, "EmptyTextError", "why")]
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", None)
    assert failures.count_failures(folder, 1) == 1  # from the metadata alone


def test_files_without_statistics_are_read(folder, tmp_path):
    path = tmp_path / "texts" / "part-00001.parquet"
    pq.write_table(pq.read_table(path), path, write_statistics=False)
    assert failures.count_failures(folder, 1) == 1


@pytest.mark.parametrize("content", [None, b"", b"PAR1"])
def test_files_that_are_no_table(folder, tmp_path, content):
    path = tmp_path / "texts" / "part-00001.parquet"
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError):
        failures.count_failures(folder, 1)
    pq.write_table(pa.table({"id": ["a"]}), path)
    with pytest.raises(DataError, match=r"not a table of a run.*remove '.*/texts/part-00001\.parquet'"):
        list(failures.read_failures(folder, [1]))


def test_no_other_thread_reads_a_file(folder, tmp_path, monkeypatch):
    """A thread of Arrow that holds a file object while Python ends would abort the process (exit code 134)."""
    threads = set()

    class File(io.FileIO):
        def readinto(self, buffer):
            threads.add(threading.get_ident())
            return super().readinto(buffer)

        def read(self, size=-1):
            threads.add(threading.get_ident())
            return super().read(size)

    monkeypatch.setattr(folder.storage, "open", lambda name: File(tmp_path / name))
    assert len(list(failures.read_failures(folder, (0, 1)))) == 1
    assert threads == {threading.get_ident()}


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
def opened_folder(tmp_path):
    opened_folder = Folder(storage_of(tmp_path / "run"))
    assert opened_folder.create(manifest())
    opened_folder.write(1, tables([2]), {})
    opened_folder.write(0, tables([0, 1]), {})
    return opened_folder


def test_what_is_written_is_read_back_in_order(opened_folder):
    run = open_run(opened_folder.place)
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


def test_a_run_says_what_it_is(opened_folder, monkeypatch):
    assert "3 texts, judge explained with mase; 2 of 2 parts finished" in repr(open_run(opened_folder.place))
    run = open_run(opened_folder.place)

    def unreachable(_):
        raise DataError("the network is down")

    monkeypatch.setattr(Folder, "finished", unreachable)
    assert "cannot be read" in repr(run)


def test_equal_tables_make_equal_files(opened_folder, tmp_path):
    before = {table: opened_folder.storage.read(f"{table}/{part_name(0)}") for table in COMPARED}
    opened_folder.write(0, tables([0, 1], worker="another"), {})
    assert {table: opened_folder.storage.read(f"{table}/{part_name(0)}") for table in COMPARED} == before


def test_a_part_without_texts_is_not_finished(opened_folder):
    opened_folder.storage.delete(f"texts/{part_name(0)}")
    run = open_run(opened_folder.place)
    assert run.parts == (1,)
    assert not run.is_complete
    assert set(run.units().column("row").to_pylist()) == {2}


def test_drafts_and_other_files_are_no_parts(opened_folder, tmp_path):
    texts = tmp_path / "run" / "texts"
    for name in ("part-00002.parquet", ".part-00003.parquet.0123456789abcdef", "part-3.parquet", "part-000003.parquet"):
        (texts / name).write_bytes(b"")
    assert open_run(opened_folder.place).parts == (0, 1)
    opened_folder.clean([3])
    assert not (texts / ".part-00003.parquet.0123456789abcdef").exists()


def test_a_manifest_is_never_replaced(opened_folder):
    assert not opened_folder.create(manifest(seed=1))
    assert opened_folder.manifest() == manifest()


def test_other_columns_are_refused(opened_folder):
    opened_folder.storage.write(f"texts/{part_name(0)}", parquet(pa.table({"id": ["0"]})))
    with pytest.raises(DataError):
        open_run(opened_folder.place).texts()


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
    from mase_corpora.schema import schema

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
def test_nothing_but_regular_files_of_the_folder_is_read(opened_folder, tmp_path, make):
    path = tmp_path / "run" / "units" / part_name(0)
    path.unlink()
    make(path)
    with pytest.raises(DataError):
        open_run(opened_folder.place).units()


def test_a_plan_of_any_size_is_opened(tmp_path):
    opened_folder = Folder(storage_of(tmp_path / "run"))
    opened_folder.create(manifest(n_texts=10**15))
    assert open_run(opened_folder.place).parts == ()


def test_the_tables_of_a_run_that_is_under_way_have_the_same_texts(opened_folder):
    opened_folder.storage.delete(f"texts/{part_name(0)}")
    run = open_run(opened_folder.place)
    assert run.texts().column("row").to_pylist() == [2]
    opened_folder.write(0, tables([0, 1]), {})
    assert set(run.units().column("row").to_pylist()) == {2}
    assert open_run(opened_folder.place).is_complete


@pytest.mark.parametrize("wrong", [None, 3, b"run"])
def test_what_is_neither_a_run_nor_a_path(wrong):
    for read in (open_run, mase.summarise, lambda run: mase.compare(run, run)):
        with pytest.raises(OptionError, match=f"run is of type {type(wrong).__name__}, expected a Run"):
            read(wrong)


IDS = pa.chunked_array([["a", "b"]])


SLICE = range(10, 12)


ROWS = {
    "texts": [
        {"id": "a", "row": 10, "prediction": "pos", "probability": 0.9, "n_queries": 5, "split_half": None},
        {"id": "b", "row": 11, "error": "EmptyTextError"},
    ],
    "responses": [
        {"id": "a", "row": 10, "response": name, "link": "margin", "value": 1.0, "intercept": 0.0, "r2": None}
        for name in ("pos", "neg")
    ],
    "units": [
        {"id": "a", "row": 10, "response": response, "position": position, "field": field, "start": start,
         "end": start + 2, "text": "ab", "score": 0.5, "kept": 0.2, "kept_error": 0.1, "rank": 1}
        for response in ("pos", "neg")
        for position, (field, start) in enumerate([("one", 0), ("one", 3), ("two", 0)])
    ],
    "timings": [{"id": "a", "row": 10, "seconds": 0.1}, {"id": "b", "row": 11, "seconds": 0.0}],
}  # fmt: skip


def check(table, rows):
    check_rows(table, pa.Table.from_pylist(rows, schema(table)), SLICE, IDS, "here")


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_a_run(table):
    check(table, ROWS[table])
    if table != "texts":
        check(table, [])


@pytest.mark.parametrize(
    ("table", "index", "changes"),
    [
        *((table, 0, {"row": 9}) for table in TABLES),
        *((table, 0, {"row": 11}) for table in TABLES),
        *((table, -1, {"row": 12}) for table in TABLES),
        *((table, -1, {"row": None}) for table in TABLES),
        *((table, 0, {"id": "b"}) for table in TABLES),
        *((table, 0, {"id": None}) for table in TABLES),
        *(("texts", 0, {"probability": value}) for value in (np.nan, np.inf, 1.5)),
        ("texts", 0, {"prediction": None}),
        ("texts", 0, {"n_queries": -1}),
        ("texts", 1, {"split_half": 2.0}),
        ("responses", 1, {"response": "pos"}),
        ("responses", 1, {"response": None}),
        ("responses", 0, {"link": None}),
        ("responses", 0, {"value": np.nan}),
        ("responses", 0, {"intercept": None}),
        ("responses", 0, {"r2": 1.5}),
        *(("units", 2, {"score": value}) for value in (None, np.nan, -np.inf)),
        *(("units", 2, {"standard_error": value}) for value in (-1.0, np.nan, np.inf)),
        *(("units", 2, {name: np.inf}) for name in ("removed", "kept")),
        *(("units", 2, {f"{name}_error": value}) for name in ("removed", "kept") for value in (-1.0, np.nan)),
        ("units", 2, {"rank": 0}),
        ("units", 1, {"position": 2}),
        ("units", 3, {"position": 3}),
        ("units", 1, {"start": 1}),
        ("units", 1, {"start": -1}),
        ("units", 1, {"end": 3}),
        ("units", 2, {"text": None}),
        ("units", 3, {"response": "pos"}),
        ("units", 2, {"field": "one"}),
        ("timings", 0, {"seconds": -1.0}),
    ],
)
def test_a_value_out_of_its_place(table, index, changes):
    rows = [dict(row) for row in ROWS[table]]
    rows[index] |= changes
    with pytest.raises(DataError, match="here"):
        check(table, rows)


def test_rows_that_are_missing_or_twice():
    with pytest.raises(DataError):
        check("texts", ROWS["texts"][:1])
    for table in TABLES:
        with pytest.raises(DataError):
            check(table, [row for row in ROWS[table] for _ in (0, 1)])


def test_units_of_a_field_in_two_places():
    units = ROWS["units"][:3]
    with pytest.raises(DataError):
        check("units", [*units, units[0] | {"position": 3}])


def test_only_a_model_of_values_has_no_probabilities():
    explained = {"prediction": "value", "n_queries": 5}
    texts = [{"id": "a", "row": 10} | explained, {"id": "b", "row": 11} | explained]
    check("texts", texts)
    with pytest.raises(DataError, match="without 'probability'"):
        check("texts", [texts[0] | {"probability": 0.9}, texts[1]])
