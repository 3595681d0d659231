"""Readers of corpora that need no process."""

from threading import Event

import pytest
from tests.unit.serve.corpora import Reader

from mase.serve import corpora


@pytest.fixture
def reader(monkeypatch):
    """The kind of the readers, which may read, unless a test takes that back."""
    monkeypatch.setattr(Reader, "go", Event(), raising=False)
    monkeypatch.setattr(Reader, "sources", [], raising=False)
    monkeypatch.setattr(corpora, "Reading", Reader)
    Reader.go.set()
    return Reader
