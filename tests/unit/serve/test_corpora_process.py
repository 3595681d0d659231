"""Tests of `mase.serve.corpora_process`: what becomes of the process that reads a corpus."""

import re

import pytest
from tests.attributions import attribution
from tests.runs import run_of

pytest.importorskip("duckdb")
from mase.serve.corpora_message import Message
from mase.serve.corpora_process import Reading


def test_a_process_reads_a_corpus_and_runs_nothing_that_lies_about(tmp_path, monkeypatch):
    run_of(tmp_path / "run", [(attribution(), ())])
    for name in ("signal", "duckdb", "mase", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')")
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path)
    shares = []
    last = Reading("run", tmp_path / "made", None, None).follow(shares.append)
    assert (last.share, last.error) == (1.0, None)
    assert re.search("script-src 'nonce-[0-9a-f]{32}'", last.policy)
    assert shares[-1] == 1.0
    assert not (tmp_path / "canary").exists()
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["report"]


def test_a_corpus_that_cannot_be_read_is_a_typed_error(tmp_path):
    last = Reading("nothing.jsonl", tmp_path, None, None).follow(lambda share: None)
    assert last == Message(error="DataError", message="cannot read 'nothing.jsonl': No such file or directory")


def test_a_process_that_is_killed_is_an_error(tmp_path):
    reading = Reading("nothing", tmp_path, None, None)
    reading.end()
    last = reading.follow(lambda share: None)
    assert last.error == "WorkerError"
    assert "SIGKILL" in last.message
