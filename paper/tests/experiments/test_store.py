"""Tests of `mase_paper.experiments.store`."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from paper.tests.experiments.samples import HEADER, plain, record, write

from mase.errors import DataError
from mase.methods import parse
from mase_paper.experiments.columns import columns_path, load
from mase_paper.experiments.journal import Journal, journal_path
from mase_paper.experiments.records import Records
from mase_paper.experiments.results import gather
from mase_paper.experiments.store import compact, drop, read


@pytest.mark.parametrize("compacted", [False, True])
def test_another_machine_adds_a_header(compacted, tmp_path):
    write(tmp_path, "lstm-imdb", "mase", [1])
    if compacted:
        compact(tmp_path, "lstm-imdb")
    file = Journal(tmp_path, HEADER | {"hardware": {"processor": "q", "device": "cuda"}})
    file.append(record(1))
    file.append(record(0, (7, 7, 7)))
    file.close()
    found = read(tmp_path, "lstm-imdb")["mase"]
    assert [header["hardware"]["processor"] for header in found.headers] == ["p", "q"]
    assert found.by_number[0].flips == (1, 0, 0)  # the first record of a text counts
    assert set(found.by_number) == {0, 1}
    (outcomes,) = gather(tmp_path, "lstm-imdb", {parse("mase"): range(5)}).values()
    assert [(one["n_texts"], one["hardware"]["processor"]) for one in outcomes.made_on] == [(1, "p"), (1, "q")]
    (first,) = gather(tmp_path, "lstm-imdb", {parse("mase"): range(1)}).values()
    assert [one["hardware"]["processor"] for one in first.made_on] == ["p"]


def test_records_of_an_earlier_version_are_read_and_moved(tmp_path):
    """They were journals, gzipped when a run was complete."""
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    path = journal_path(tmp_path, "lstm-imdb", "mase")
    path.with_name("mase.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    known = read(tmp_path, "lstm-imdb")["mase"]
    assert set(known.by_number) == {0, 1}
    file = Journal(tmp_path, HEADER, known)
    file.append(record(2))
    file.close()
    before = plain(read(tmp_path, "lstm-imdb"))
    assert len(before) == 3
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["lstm-imdb.parquet"]


def test_a_kill_between_columns_and_journals_loses_and_doubles_nothing(tmp_path, monkeypatch):
    """The columns are written before the journals go: whatever is left, every record is read once."""
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    before = plain(read(tmp_path, "lstm-imdb"))
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception):
        compact(tmp_path, "lstm-imdb")
    monkeypatch.undo()
    assert journal_path(tmp_path, "lstm-imdb", "mase").exists()
    assert plain(load(columns_path(tmp_path, "lstm-imdb"))) == before
    assert plain(read(tmp_path, "lstm-imdb")) == before
    compact(tmp_path, "lstm-imdb")
    assert plain(read(tmp_path, "lstm-imdb")) == before


def test_columns_that_cannot_be_written_leave_the_journals(tmp_path, monkeypatch):
    write(tmp_path, "lstm-imdb", "mase", [1])
    compact(tmp_path, "lstm-imdb")
    write(tmp_path, "lstm-imdb", "mase", [1, 2])
    before, files = plain(read(tmp_path, "lstm-imdb")), sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as full:
        full.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(DataError, match="No space left"):
            compact(tmp_path, "lstm-imdb")
    assert sorted(tmp_path.rglob("*")) == files
    assert plain(read(tmp_path, "lstm-imdb")) == before


def test_dropped_records_are_gone_and_the_others_stay(tmp_path):
    for name in ("mase", "lime"):
        write(tmp_path, "lstm-imdb", name, [1])
    compact(tmp_path, "lstm-imdb")
    write(tmp_path, "lstm-imdb", "random", [1])
    drop(tmp_path, "lstm-imdb", {"mase", "random"})
    assert set(read(tmp_path, "lstm-imdb")) == {"lime"}
    drop(tmp_path, "lstm-imdb", {"lime"})
    assert list(tmp_path.iterdir()) == []
    drop(tmp_path / "none", "lstm-imdb", {"lime"})


def test_two_runs_do_not_write_one_journal(tmp_path):
    pytest.importorskip("fcntl")
    write(tmp_path, "lstm-imdb", "mase", [1])
    one, two = Journal(tmp_path, HEADER), Journal(tmp_path, HEADER)
    one.append(record(1))
    with pytest.raises(DataError, match="written by another run"):
        two.append(record(1))
    with pytest.raises(DataError, match="written by another run"):
        drop(tmp_path, "lstm-imdb", {"mase"})
    two.close()
    write(tmp_path, "lstm-imdb", "lime", [1])
    compact(tmp_path, "lstm-imdb")  # another run of other methods ends
    assert set(load(columns_path(tmp_path, "lstm-imdb"))) == {"lime"}
    one.append(record(2))
    one.close()
    compact(tmp_path, "lstm-imdb")
    assert set(load(columns_path(tmp_path, "lstm-imdb"))["mase"].by_number) == {0, 1, 2}


def test_runs_that_end_at_once_lose_no_records(tmp_path):
    """Threads stand for runs: each appends to journals of its own methods, and moves what is free, again and again."""
    pytest.importorskip("fcntl")

    def run(index):
        for number in range(6):
            known = read(tmp_path, "lstm-imdb", {f"lime+seed={index}"}).get(f"lime+seed={index}", Records())
            assert set(known.by_number) == set(range(number))
            file = Journal(tmp_path, HEADER | {"spec": f"lime+seed={index}"}, known)
            file.append(record(number))
            file.close()
            compact(tmp_path, "lstm-imdb")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(4)))
    found = load(columns_path(tmp_path, "lstm-imdb"))
    assert {configuration: set(one.by_number) for configuration, one in found.items()} == {
        f"lime+seed={index}": set(range(6)) for index in range(4)
    }


@pytest.mark.parametrize("content", [b"[1, 2]\n", b"{}\nno json\n", b"{}\n3\n", b"{}\n[1]\n"])
def test_other_files_are_data_errors(tmp_path, content):
    path = tmp_path / "lstm-imdb" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DataError):
        read(tmp_path, "lstm-imdb")
    path.unlink()
    assert read(tmp_path, "lstm-imdb") == {}
    path.with_name("x.jsonl.gz").write_bytes(b"not gzip")
    for act in (read, compact):
        with pytest.raises(DataError, match="cannot read"):
            act(tmp_path, "lstm-imdb")
    assert path.with_name("x.jsonl.gz").exists()
