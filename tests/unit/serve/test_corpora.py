"""Tests of `mase.serve.corpora`: when a corpus is read, and what is shown meanwhile."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.unit.serve.corpora import settled

pytest.importorskip("duckdb")
from mase.serve import corpora as module
from mase.serve.corpora import Corpora, Failure, Preparing, Version


@contextmanager
def opened(*sources, **columns):
    corpora = Corpora(sources, **columns)
    try:
        yield list(corpora.by_number.values())
    finally:
        corpora.close()


@pytest.fixture
def run(tmp_path):
    """Return the folder of a run, as far as the server itself looks at it."""
    (tmp_path / "run" / "texts").mkdir(parents=True)
    (tmp_path / "run" / "run.json").write_text("{}")
    (tmp_path / "run" / "texts" / "part-00000.parquet").touch()
    return tmp_path / "run"


def grow(run, number):
    (run / "texts" / f"part-{number:05}.parquet").touch()


def until_half(corpus):
    while corpus.share != 0.5:
        time.sleep(0.002)


def test_a_corpus_is_read_when_somebody_looks_and_once(reader, run):
    with opened(run) as (corpus,):
        assert reader.sources == []
        assert corpus.share is None
        reader.go.clear()
        assert isinstance(corpus.look(), Preparing)
        until_half(corpus)
        assert corpus.look() == Preparing(0.5, None)
        reader.go.set()
        first = settled(corpus)
        assert (first.number, corpus.share) == (1, None)
        assert corpus.look() is first
        assert reader.sources == [os.fspath(run)]


def test_a_run_that_grew_is_read_again_and_the_page_before_stays(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 0.0)
    with opened(run) as (corpus,):
        versions = [settled(corpus)]
        for number in (1, 2):
            grow(run, number)
            reader.begin.clear()
            former = corpus.look()
            assert former == Preparing(0.0, versions[-1])
            assert (versions[-1].folder / "index.html").is_file()
            reader.begin.set()
            versions.append(settled(corpus))
        assert [version.number for version in versions] == [1, 2, 3]
        assert [version.folder.exists() for version in versions] == [False, True, True]
        assert [corpus.version(name) for name in ("1", "2", "02", "x")] == [None, versions[1], None, None]


@pytest.mark.parametrize("change", ["manifest", "gone", "file"])
def test_a_corpus_that_changed_is_read_again(reader, run, monkeypatch, change):
    monkeypatch.setattr(module, "FRESH", 0.0)
    source = run / "run.json" if change == "file" else run
    with opened(source) as (corpus,):
        settled(corpus)
        if change == "gone":
            run.rename(run.parent / "other")
        else:
            (run / "run.json").write_text('{"changed": true}')
        assert settled(corpus).number == 2


def test_a_run_that_grows_faster_than_it_is_read_is_shown(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 3600.0)
    with opened(run) as (corpus,):
        first = settled(corpus)
        grow(run, 1)
        assert corpus.look() is first


def test_a_corpus_that_grew_while_it_was_read_is_not_taken_for_new(reader, run, monkeypatch):
    monkeypatch.setattr(module, "FRESH", 0.0)
    with opened(run) as (corpus,):
        reader.go.clear()
        corpus.look()
        until_half(corpus)
        grow(run, 1)
        reader.go.set()
        while corpus.share is not None:
            time.sleep(0.002)
        assert isinstance(corpus.look(), Preparing)
        assert settled(corpus).number == 2


@pytest.mark.parametrize(("name", "error"), [("bad", "DataError"), ("unstartable", "WorkerError")])
def test_a_failure_is_told_once_and_then_tried_again(reader, run, tmp_path, name, error):
    with opened(tmp_path / name, run) as (bad, good):
        assert isinstance(settled(good), Version)
        for _ in range(2):
            found = settled(bad)
            assert isinstance(found, Failure)
            assert found.error == error
        assert isinstance(good.look(), Version)


def test_one_corpus_is_read_at_a_time(reader, tmp_path):
    with opened(tmp_path / "a", tmp_path / "b") as (first, second):
        reader.go.clear()
        first.look()
        until_half(first)
        assert [second.look() for _ in range(3)] == [Preparing(0.0, None)] * 3
        time.sleep(0.05)
        assert len(reader.sources) == 1
        reader.go.set()
        settled(second)
        assert len(reader.sources) == 2


def test_an_end_of_the_server_ends_the_reading_and_deletes_all(reader, run):
    corpora = Corpora([run, run])
    first, second = corpora.by_number.values()
    place = settled(first).folder.parents[2]
    reader.go.clear()
    second.look()
    until_half(second)
    corpora.close()
    assert not place.exists()
    assert run.exists()


def test_the_temporary_folder_is_for_the_user_only(reader, run):
    with opened(run) as (corpus,):
        assert settled(corpus).folder.parents[2].stat().st_mode & 0o77 == 0


def test_entries_have_the_names_that_were_typed():
    corpora = Corpora([Path("a") / "run", "b.jsonl"])
    assert corpora.entries == [
        {"name": os.path.join("a", "run"), "href": "/corpora/0/"},  # noqa: PTH118
        {"name": "b.jsonl", "href": "/corpora/1/"},
    ]
    corpora.close()


def test_a_name_that_is_not_valid_unicode_can_be_in_a_page():
    """A folder whose name is not UTF-8 has lone surrogates in Python."""
    corpora = Corpora(["caf\udce9"])
    (entry,) = corpora.entries
    assert entry["name"].encode().startswith(b"caf")
    corpora.close()
