"""Tests of `mase.corpus.status`."""

import os

import pytest

import mase
from mase.corpus.lock import hold
from mase.corpus.plan import Shard
from mase.corpus.status import read_status
from mase.corpus.storage import storage_of
from mase.errors import DataError


def predict(texts):
    return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


def test_a_finished_run(tmp_path):
    mase.run(["a good film", "", "a dull film"], tmp_path / "out", model=predict, engine="here", n_samples=8)
    found = read_status(tmp_path / "out")
    assert (found.n_texts, found.n_texts_done, found.n_parts_done, found.n_failed) == (3, 3, 1, 1)
    assert found.is_complete
    assert (found.drivers, found.texts_per_second, found.seconds_left) == ((), None, None)


@pytest.mark.parametrize("table", ["units", "responses", "timings"])
def test_a_part_without_one_of_its_files_is_not_finished(tmp_path, table):
    mase.run(["good", "bad", "dull"], tmp_path, model=predict, engine="here", n_samples=8, part_size=1)
    for part in (0, 2):
        (tmp_path / table / f"part-0000{part}.parquet").unlink()
    with pytest.raises(DataError, match=rf"{table}/part-00000.*missing.* 1 other.*texts/part-00000"):
        read_status(tmp_path)


def test_a_run_without_an_explained_text(tmp_path):
    with (
        hold(storage_of(tmp_path), Shard(), dict),
        pytest.raises(DataError, match=rf"process {os.getpid()} .* has not explained a text so far"),
    ):
        read_status(tmp_path)
    with pytest.raises(DataError, match="expected the folder of a run"):
        read_status(tmp_path)
