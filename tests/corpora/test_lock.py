"""Tests of locks: one driver per run or shard, and what a dead one left is taken over."""

import os
import time
from pathlib import Path

import msgspec
import pytest
from tests.corpora.runs import files, run

from mase.errors import DataError, LockedError
from mase_corpora import lock as module
from mase_corpora.lock import FOLDER, Owner, hold, owners
from mase_corpora.plan import Shard
from mase_corpora.storage import storage_of

WHOLE = Shard()


def nothing():
    return {}


def leave(folder, shard=WHOLE, **changes):
    """Write a lock as another process would have left it."""
    owner = msgspec.structs.replace(Owner.this_process(shard), **changes)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    (folder / FOLDER / owner.name).write_bytes(msgspec.json.encode(owner))
    return owner


def test_a_second_driver_is_refused(tmp_path):
    storage = storage_of(tmp_path)
    with hold(storage, WHOLE, nothing):
        assert [owner.pid for owner in owners(storage)] == [os.getpid()]
        for shard in (WHOLE, Shard(1, 2)):
            with pytest.raises(LockedError, match=f"process {os.getpid()}"), hold(storage, shard, nothing):
                pass
        with pytest.raises(LockedError):
            run(tmp_path)
    assert owners(storage) == []
    run(tmp_path)


def test_shards_of_one_number_may_run_together(tmp_path):
    storage = storage_of(tmp_path)
    with hold(storage, Shard(1, 2), nothing), hold(storage, Shard(2, 2), nothing):
        for shard in (WHOLE, Shard(1, 2), Shard(2, 3)):
            with pytest.raises(LockedError), hold(storage, shard, nothing):
                pass


DEAD = {
    "no such process": {"pid": 2**22 + 1},
    "another process of this number": {"start": "1"},
    "another machine, long ago": {"host": "elsewhere", "renewed": time.time() - 3600},
    "another machine, whose clock is a year ahead": {"host": "elsewhere", "renewed": time.time() + 3e7},
    "another container, long ago": {"space": "another", "renewed": time.time() - 3600},
}


@pytest.mark.parametrize("changes", DEAD.values(), ids=DEAD)
@pytest.mark.slow
def test_a_dead_owners_lock_is_taken_over(tmp_path, expected, changes):
    leave(tmp_path, **changes)
    run(tmp_path)
    assert files(tmp_path) == expected
    assert owners(storage_of(tmp_path)) == []


@pytest.mark.parametrize("changes", [{"host": "elsewhere"}, {"space": None}, {"space": "another"}])
def test_the_lock_of_a_process_that_cannot_be_seen_counts_while_it_is_renewed(tmp_path, changes):
    owner = leave(tmp_path, **changes)
    with pytest.raises(LockedError), hold(storage_of(tmp_path), WHOLE, nothing):
        pass
    assert owners(storage_of(tmp_path)) == [owner]


def test_a_lock_that_stays_because_a_clock_was_set_back_can_be_deleted(tmp_path, expected):
    leave(tmp_path, host="elsewhere", renewed=time.time() + 3600)
    with pytest.raises(LockedError, match=r"delete '.*run\.json' if it was killed") as caught:
        run(tmp_path)
    Path(str(caught.value).split("delete '")[1].split("'")[0]).unlink()
    run(tmp_path)
    assert files(tmp_path) == expected


def test_a_lock_is_renewed_with_the_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "RENEWED", 0.01)
    storage = storage_of(tmp_path)
    with hold(storage, WHOLE, lambda: {"done": 7.0}) as lock:
        until = time.monotonic() + 60
        while not owners(storage)[0].progress and time.monotonic() < until:
            time.sleep(0.01)
        assert owners(storage)[0].progress == {"done": 7.0}
        assert owners(storage)[0].renewed > lock.owner.renewed
        lock.check()


def test_a_driver_whose_lock_was_taken_over_ends_and_leaves_the_lock(tmp_path):
    storage = storage_of(tmp_path)
    with hold(storage, WHOLE, nothing) as lock:
        other = leave(tmp_path, token="another", host="elsewhere")
        lock.renew({})
        with pytest.raises(LockedError, match="taken over"):
            lock.check()
    assert owners(storage) == [other]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b" " * 100_000])
def test_what_is_no_lock_is_refused(tmp_path, content):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "run.json").write_bytes(content)
    with pytest.raises(DataError, match="delete it"), hold(storage_of(tmp_path), WHOLE, nothing):
        pass
