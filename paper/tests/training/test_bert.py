"""Tests of `mase_paper.training.bert`."""

import errno
from pathlib import Path

import pytest

from mase.errors import DataError
from mase_paper.training.bert import Checkpoint


def test_a_checkpoint_on_a_full_disk_is_an_error(tmp_path, monkeypatch):
    def full(self, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match=r"cannot write .*checkpoint\.pt'?: No space left on device"):
        Checkpoint(tmp_path / "checkpoint.pt", "this").write({"step": 1})
    assert not list(tmp_path.iterdir())
