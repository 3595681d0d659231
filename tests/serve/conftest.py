"""Readers of corpora that need no process."""

from threading import Event

import pytest
from tests.serve.corpora import Reader

from mase_serve import corpora


@pytest.fixture
def reader(monkeypatch):
    """The kind of the readers, which may read, unless a test takes that back."""
    for name in ("begin", "go"):
        monkeypatch.setattr(Reader, name, Event(), raising=False)
    monkeypatch.setattr(Reader, "sources", [], raising=False)
    monkeypatch.setattr(corpora, "Reading", Reader)
    Reader.begin.set()
    Reader.go.set()
    return Reader
