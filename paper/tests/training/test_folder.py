"""Tests of `mase_paper.training.folder`."""

import os
from pathlib import Path

import pytest

from mase.errors import DataError
from mase_paper.training.folder import write_model

NAMES = ("config.json", "vocabulary.txt", "model.safetensors")


def write(folder, content):
    write_model(folder, content.encode(), dict.fromkeys(NAMES[:2], content))


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("n_moved", range(len(NAMES) + 1))
def test_a_model_is_replaced_as_a_whole_or_cannot_be_opened(tmp_path, monkeypatch, n_moved):
    write(tmp_path, "old")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")
    moved, replace = [], Path.replace

    def stopped(self, target):
        if len(moved) == n_moved:
            raise KeyboardInterrupt
        moved.append(target)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stopped)
    if n_moved < len(NAMES):
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path, "new")
        assert "model.safetensors" not in contents(tmp_path)
    else:
        write(tmp_path, "new")
        assert contents(tmp_path) == dict.fromkeys(NAMES, "new")


def test_a_model_stays_if_a_new_one_cannot_be_written(tmp_path, monkeypatch):
    write(tmp_path, "old")
    (tmp_path / "vocabulary.txt").unlink()
    (tmp_path / "vocabulary.txt").mkdir()
    with pytest.raises(DataError, match=r"vocabulary\.txt"):
        write(tmp_path, "new")
    assert (tmp_path / "model.safetensors").read_text() == "old"


@pytest.mark.parametrize("n_flushed", range(len(NAMES)))
def test_a_model_stays_if_the_disk_is_found_full_when_files_are_flushed(tmp_path, monkeypatch, n_flushed):
    write(tmp_path, "old")
    flushed, fsync = [], os.fsync

    def full(file):
        if len(flushed) == n_flushed:
            raise OSError(28, "No space left on device")
        flushed.append(file)
        fsync(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="No space left"):
        write(tmp_path, "new")
    assert contents(tmp_path) == dict.fromkeys(NAMES, "old")


def test_a_link_to_the_weights_stays(tmp_path):
    folder, stored = tmp_path / "model", tmp_path / "stored"
    folder.mkdir()
    stored.write_text("old")
    (folder / "model.safetensors").symlink_to(stored)
    write(folder, "new")
    assert (stored.read_text(), (folder / "model.safetensors").is_symlink()) == ("new", True)
