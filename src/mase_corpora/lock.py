"""Locks: one driver at a time works on a run, or one per shard. A lock says who holds it and how far it is.

The lock of a process that has ended is taken over. On this machine the process itself is looked up. On others, and in
other containers, a lock counts as left behind if its owner has not renewed it for a minute, by the clocks of both
machines. Taking over is exclusive where the file system has locks. An object store has none: two drivers that start at
the same moment may both begin, and the first one ends when it finds that the lock is no longer its own. The parts that
both write are equal.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Event, Thread

import msgspec

from mase.errors import DataError, LockedError
from mase.platforms import process_space, process_start
from mase_corpora.folder import check_there
from mase_corpora.plan import Shard
from mase_corpora.storage import Storage

FOLDER = "locks"
# Seconds between two renewals, and after which a lock that was not renewed counts as left behind.
RENEWED, LEFT_BEHIND = 5.0, 60.0
_DAY = 86_400.0  # by which no clock is ahead
_LARGEST = 64 << 10


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The content of a lock.

    Attributes
    ----------
    host, space, pid, start
        The process: name of its machine, boot of the system with its container, number and start. See
        `mase.platforms.process_space` and `process_start`.
    shard, of
        The shard that it works on.
    token
        A random name of this lock.
    renewed
        When it was written, in seconds since 1970.
    progress
        What the driver reports: texts done, failed and in total, per second, and seconds left.
    """

    host: str
    space: str | None
    pid: int
    start: str | None
    shard: int
    of: int
    token: str
    renewed: float
    progress: dict[str, float | None] = {}

    @classmethod
    def this_process(cls, shard: Shard) -> "Owner":
        """Return a new owner for this process."""
        pid = os.getpid()
        return cls(
            host=socket.gethostname(),
            space=process_space(),
            pid=pid,
            start=process_start(pid),
            shard=shard.number,
            of=shard.of,
            token=secrets.token_hex(8),
            renewed=time.time(),
        )

    @property
    def name(self) -> str:
        """Name of its file."""
        return "run.json" if self.of == 1 else f"shard-{self.shard}-of-{self.of}.json"

    @property
    def is_alive(self) -> bool:
        """Whether the process is still there, as far as that can be known here."""
        if self.is_here:
            return process_start(self.pid) == self.start
        return -_DAY < time.time() - self.renewed < LEFT_BEHIND

    @property
    def is_here(self) -> bool:
        """Whether this process can see that process."""
        return self.space is not None and (self.host, self.space) == (socket.gethostname(), process_space())

    def allows(self, other: "Owner") -> bool:
        """Return whether another driver may work beside this one: on another shard of as many."""
        return self.of == other.of and self.shard != other.shard


def owners(storage: Storage) -> list[Owner]:
    """Return the owners of all locks of a run, also of those that were left behind."""
    result = (_read(storage, name) for name in storage.names(FOLDER) if not name.startswith("."))
    return [owner for owner in result if owner is not None]


class Lock:
    """The lock that this process holds.

    Attributes
    ----------
    owner
        The content of the lock.
    """

    def __init__(self, storage: Storage, owner: Owner) -> None:
        self.owner = owner
        self._storage, self._other, self._is_deleted = storage, False, False

    def check(self) -> None:
        """Check that the lock is still this process's."""
        if self._is_deleted:
            check_there(self._storage)
        if self._other:
            raise LockedError(
                f"another process has taken over the run {self._storage.place!r}, because this one did not renew its "
                "lock for a minute; all parts that are finished are kept, and the other process continues"
            )

    def renew(self, progress: Mapping[str, float | None]) -> None:
        """Write the lock again, with the time and the progress, unless it belongs to another process by now."""
        with suppress(DataError):  # the next part cannot be written either, which the driver reports
            result = _read(self._storage, self.owner.name)
            self._is_deleted = result is None
            self._other = result is None or result.token != self.owner.token
            if not self._other:
                owner = msgspec.structs.replace(self.owner, renewed=time.time(), progress=dict(progress))
                self._storage.write(f"{FOLDER}/{owner.name}", msgspec.json.encode(owner))

    def release(self) -> None:
        """Delete the lock. If the storage refuses, it is taken over later, like that of a process that was killed."""
        with suppress(DataError):
            result = _read(self._storage, self.owner.name)
            if result is not None and result.token == self.owner.token:
                self._storage.delete(f"{FOLDER}/{self.owner.name}")


@contextmanager
def hold(storage: Storage, shard: Shard, progress: Callable[[], Mapping[str, float | None]]) -> Iterator[Lock]:
    """Hold the lock of a shard during the block, and renew it with what `progress` returns."""
    lock, ended = Lock(storage, Owner.this_process(shard)), Event()

    def renew() -> None:
        while not ended.wait(RENEWED):
            lock.renew(progress())

    thread = Thread(target=renew, daemon=True)
    try:
        with storage.alone(FOLDER):
            _take(storage, lock.owner)
        thread.start()
        yield lock
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()
        lock.release()


def check_free(storage: Storage, shard: Shard) -> None:
    """Check, without taking the lock, that no other process works on a run."""
    owner = Owner.this_process(shard)
    for other in owners(storage):
        if other.is_alive and not other.allows(owner):
            raise _refused(storage, other)


def _take(storage: Storage, owner: Owner) -> None:
    for other in owners(storage):
        if other.allows(owner):
            continue
        if other.is_alive:
            raise _refused(storage, other)
        storage.delete(f"{FOLDER}/{other.name}")
    for name in storage.names(FOLDER):
        if name.startswith(f".{owner.name}."):  # a draft of an owner that was killed
            storage.delete(f"{FOLDER}/{name}")
    if not storage.create(f"{FOLDER}/{owner.name}", msgspec.json.encode(owner)):
        raise _refused(storage, _read(storage, owner.name))


def _refused(storage: Storage, other: Owner | None) -> LockedError:
    who = "another process" if other is None else f"process {other.pid} on {other.host!r:.100}"
    what = "" if other is None or other.of == 1 else f" for shard {other.shard}/{other.of}"
    lock = "" if other is None else repr(f"{storage.place}/{FOLDER}/{other.name}")
    gone = f", delete {lock} if it was killed" if other is not None and not other.is_here else ""
    return LockedError(
        f"the run {storage.place!r} is in use by {who}{what}; wait until it has ended{gone}, or begin all processes "
        "with different shards of the same number, as in 1/4 and 2/4"
    )


def _read(storage: Storage, name: str) -> Owner | None:
    """Return the owner of a lock; None if it was deleted meanwhile."""
    path = f"{FOLDER}/{name}"
    try:
        if storage.size(path) > _LARGEST:
            raise DataError(f"{storage.place}/{path} is no lock: it has more than {_LARGEST:,} bytes; delete it")
        content = storage.read(path)
    except DataError:
        if storage.exists(path):
            raise
        return None
    try:
        owner = msgspec.json.decode(content, type=Owner)
    except (msgspec.MsgspecError, ValueError) as error:
        raise DataError(
            f"{storage.place}/{path} is no lock ({error!s:.200}); delete it if no run is using it"
        ) from error
    if owner.name != name:
        raise DataError(f"{storage.place}/{path} is the lock of another shard ({owner.name!r}); delete it")
    return owner
