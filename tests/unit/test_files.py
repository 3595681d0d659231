"""Tests of `mase.files`: what is on the disk before a file has its name."""

import os
from pathlib import Path

import pytest

from mase.errors import DataError
from mase.files import drop_cut_line, replacing, write_text
from mase_corpora.storage import LocalStorage


def test_the_content_is_on_the_disk_before_the_file_has_its_name(tmp_path, monkeypatch):
    path, happened = tmp_path / "file", []
    flush, rename = os.fsync, Path.replace

    def flushed(descriptor):
        happened.append(("flushed", os.fstat(descriptor).st_size))
        flush(descriptor)

    def renamed(draft, target):
        happened.append(("renamed", target))
        return rename(draft, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    write_text(path, "a text")
    assert happened == [("flushed", 6), ("renamed", path)]
    assert path.read_text() == "a text"


def fail(draft):
    draft.write_text("new")
    raise ZeroDivisionError


def test_a_draft_that_fails_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as draft:
        fail(draft)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("content", "whole"), [(b"one\ntwo\n", b"one\ntwo\n"), (b"one\ntw", b"one\n"), (b"on", b""), (b"", b"")]
)
def test_a_line_that_was_cut_off_is_removed(tmp_path, content, whole):
    path = tmp_path / "records.jsonl"
    path.write_bytes(content)
    assert drop_cut_line(path) == whole
    assert path.read_bytes() == whole


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "none")
    with pytest.raises(DataError, match=r"the link '.*run' leads nowhere"):
        LocalStorage(tmp_path / "run").create("locks/run.json", b"")
