"""Tests of how parts are written while the run goes on, and of what becomes of them when it ends early."""

import signal
import sys
import time

import numpy as np
import pytest
from tests.corpora.classifiers import judge
from tests.corpora.runs import TEXTS, files, run, tables

import mase
from mase.errors import DataError
from mase.models import Callable
from mase_corpora.folder import Folder

pytestmark = pytest.mark.filterwarnings("ignore:the model .* has no checksum")


@pytest.fixture
def explained(monkeypatch):
    """Return the list of the texts that are explained."""
    found, call = [], mase.Explainer.__call__
    monkeypatch.setattr(
        mase.Explainer, "__call__", lambda explainer, text, **more: found.append(text) or call(explainer, text, **more)
    )
    return found


def test_texts_are_explained_while_a_part_is_written(tmp_path, monkeypatch, explained, expected):
    write = Folder.write

    def waiting(folder, part, tables, metadata):
        deadline = time.monotonic() + 60
        while part == 0 and len(explained) < len(TEXTS) and time.monotonic() < deadline:
            time.sleep(0.01)
        meanwhile[part] = len(explained)
        write(folder, part, tables, metadata)

    meanwhile = {}
    monkeypatch.setattr(Folder, "write", waiting)
    run(tmp_path / "run")
    assert meanwhile[0] == len(TEXTS)
    assert files(tmp_path / "run") == expected


def test_an_interrupted_run_holds_its_lock_until_its_parts_are_written(tmp_path, monkeypatch, expected):
    write, lock, locked = Folder.write, tmp_path / "run" / "locks" / "run.json", []

    def slow(folder, part, tables, metadata):
        time.sleep(0.1)
        write(folder, part, tables, metadata)
        locked.append(lock.exists())

    def interrupting(texts):
        if TEXTS[12] in texts:
            raise KeyboardInterrupt
        return judge(texts)

    monkeypatch.setattr(Folder, "write", slow)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", model=interrupting)
    assert locked == [True] * 3
    assert not lock.exists()
    wanted = {name: content for name, content in expected.items() if name[-9:-8] in "012"}
    assert tables(files(tmp_path / "run")) == tables(wanted)


def test_a_program_that_is_asked_to_end_ends_its_run_and_loses_no_text(tmp_path):
    def asked(texts):
        if TEXTS[12] in texts:
            signal.raise_signal(signal.SIGTERM)
        return judge(texts)

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
    try:
        with pytest.raises(SystemExit):
            run(tmp_path / "run", model=asked)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert mase.open_run(tmp_path / "run").texts()["error"].to_pylist() == [None] * 12


@pytest.mark.slow
def test_classes_with_names_of_numpy_are_those_of_python(tmp_path):
    class Named(Callable):
        labels = tuple(np.array(["no", "yes"]))

    made, plain = (
        run(tmp_path / "run", model=Named(judge)),
        run(tmp_path / "plain", model=Callable(judge, ["no", "yes"])),
    )
    assert made.manifest.asked_sha256 == plain.manifest.asked_sha256
    assert made.texts() == plain.texts()


def test_a_part_that_cannot_be_written_ends_the_run_soon(tmp_path, monkeypatch, explained):
    def refused(folder, part, tables, metadata):
        raise DataError("no place is left")

    monkeypatch.setattr(Folder, "write", refused)
    with pytest.raises(DataError, match="no place"):
        run(tmp_path / "run", TEXTS * 10)
    assert len(explained) < len(TEXTS) * 2


def test_a_part_that_could_not_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("mase_corpora.folder.LARGEST_PART", 700)
    with pytest.raises(DataError, match="smaller part_size"):
        run(tmp_path / "run")
    assert run(tmp_path / "small", part_size=1).is_complete
