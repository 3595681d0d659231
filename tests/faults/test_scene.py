"""The harness of faults finds a row that was lost, a row too many, and a file with other bytes."""

import shutil

import pytest

from mase_corpora.folder import Folder
from mase_corpora.plan import Asked, Manifest
from mase_corpora.schema import TABLES, schema
from mase_corpora.storage import LocalStorage
from tests.faults.scene import Scene

N, PART_SIZE = 6, 2


@pytest.fixture
def scene(tmp_path):
    """A scene with its uninterrupted run, and a copy of that run."""
    found = Scene(tmp_path, (), N, PART_SIZE)
    folder = Folder(LocalStorage(tmp_path / "uninterrupted"))
    asked = Asked(model={}, method={}, seed=0, target=None, input={}, n_texts=N, part_size=PART_SIZE)
    folder.create(Manifest(asked=asked, made_with={}, labels=("neg", "pos"), created=""))
    for part in range(N // PART_SIZE):
        written(folder, part, [part * PART_SIZE, part * PART_SIZE + 1])
    shutil.copytree(found.reference, tmp_path / "run")
    return found, Folder(LocalStorage(tmp_path / "run"))


def written(folder, part, rows):
    """Write a part whose tables have these rows of texts."""
    tables = {table: schema(table).empty_table() for table in TABLES}
    texts = [{"id": str(row), "row": row, "notes": []} for row in rows]
    folder.write(part, tables | {"texts": schema("texts").empty_table().from_pylist(texts, schema("texts"))}, {})


def judged(scene, folder):
    run = scene.folder / "run"
    return (*scene.rows(run), scene.different(run, folder.finished()))


def test_an_equal_run_holds(scene):
    assert judged(*scene) == (0, 0, [])


def test_a_lost_row_is_found(scene):
    written(scene[1], 1, [2])
    assert judged(*scene) == (1, 0, ["texts/part-00001.parquet"])


def test_a_row_too_many_is_found(scene):
    written(scene[1], 1, [2, 3, 3])
    assert judged(*scene) == (0, 1, ["texts/part-00001.parquet"])


def test_a_missing_file_is_found(scene):
    scene[1].storage.delete("units/part-00002.parquet")
    assert judged(*scene)[2] == ["units/part-00002.parquet"]
