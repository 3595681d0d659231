"""Tests of `mase.datasets.table`."""

import json
import re
import struct
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.datasets.archives import IMDB_ROWS

from mase import datasets
from mase.datasets.imdb import IMDB
from mase.datasets.reuters import REUTERS
from mase.errors import DataError, MissingDependencyError, OptionError, UnknownNameError


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
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(tmp_path / "cache"))
    with pytest.raises(DataError, match=r"mase\.datasets\.get\('imdb'\)") as caught:
        datasets.load("imdb", "train")
    assert re.search(r"imdb\.parquet in .*environment or .*cache", str(caught.value))
    with pytest.raises(DataError, match="given") as caught:
        datasets.load("imdb", "train", tmp_path / "given")
    assert "environment" not in str(caught.value)


def test_table_is_found_by_variable_then_in_the_cache(table, monkeypatch):
    monkeypatch.setenv("MASE_DATA", str(table))
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(table / "absent"))
    assert len(datasets.load("imdb", "test")) == 2
    monkeypatch.delenv("MASE_DATA")
    with pytest.raises(DataError):
        datasets.load("imdb", "test")
    monkeypatch.setattr(datasets.dataset, "user_cache_dir", lambda name: str(table))
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
def test_real_tables_count_what_a_rebuild_must(name):
    dataset = datasets.DATASETS[name]
    train, test = (datasets.load(name, split, SHARED) for split in ("train", "test"))
    assert (len(train), len(test), len(set(train.labels))) == (dataset.n_train, dataset.n_test, dataset.n_labels)
    assert len(set(train.ids)) == len(train)
    assert set(test.labels) <= set(train.labels)


def test_validation_is_the_part_of_train_that_was_not_trained_on(tmp_path):
    from mase.datasets import load, split_off
    from mase.datasets.table import write_rows

    rows = [{"split": "train", "id": i, "label": "pos", "rating": 9, "text": f"text {i}"} for i in range(40)]
    write_rows(tmp_path / "imdb.parquet", rows)
    train, validation = (load("imdb", split, tmp_path) for split in ("train", "validation"))
    held = split_off(40, 0.1)[1]
    assert validation.split == "validation"
    assert validation.texts == tuple(train.texts[row] for row in held)
    assert validation.ids == tuple(train.ids[row] for row in held)
    assert validation.sha256 == train.sha256
    assert len(validation) == 4
