"""Tests of `mase.files`: what is on the disk before a file has its name."""

import os
from pathlib import Path

import pytest

from mase.errors import DataError
from mase.files import cannot_read, cannot_write, check_writable, drop_cut_line, replacing, write_text
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


def test_no_message_repeats_a_password():
    for name in ("s3://key:secret@bucket/x", Path("s3://key:secret@bucket/x")):
        assert "secret" not in str(cannot_read(name, OSError())) + str(cannot_write(name, OSError()))
    assert "'C:/a:b/c'" in str(cannot_read("C:/a:b/c", OSError()))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is closed to the superuser")
def test_a_closed_folder_is_a_typed_error(tmp_path):
    (tmp_path / "closed").mkdir(mode=0)
    with pytest.raises(DataError, match="cannot write"):
        check_writable(tmp_path / "closed" / "a.json")


def test_a_name_that_is_too_long_is_a_typed_error(tmp_path):
    with pytest.raises(DataError, match="cannot write"):
        check_writable(tmp_path / ("x" * 300))
