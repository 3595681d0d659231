"""How far a run is: from the names and the metadata of its files, and from the locks of the processes at work."""

import os
from dataclasses import dataclass
from typing import Self

from mase.corpus.lock import Owner, owners
from mase.corpus.manifest import Manifest
from mase.corpus.opened import open_run

__all__ = ["Driver", "Status", "read_status"]


@dataclass(frozen=True, slots=True)
class Driver:
    """A process that works on a run, or that was killed while it did.

    Attributes
    ----------
    host, pid
        Its machine and number.
    shard
        The shard that it works on, as I/N.
    is_alive
        Whether it is still there, as far as that can be known on this machine.
    texts_per_second, seconds_left
        Its speed, and the time that it still needs for its shard; None if that is not known.
    """

    host: str
    pid: int
    shard: str
    is_alive: bool
    texts_per_second: float | None
    seconds_left: float | None

    @classmethod
    def of(cls, owner: Owner) -> Self:
        """Return the process that holds a lock."""
        progress = owner.progress if owner.is_alive else {}
        return cls(
            host=owner.host,
            pid=owner.pid,
            shard=f"{owner.shard}/{owner.of}",
            is_alive=owner.is_alive,
            texts_per_second=progress.get("per_second"),
            seconds_left=progress.get("seconds_left"),
        )


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run is.

    Attributes
    ----------
    manifest
        What was asked of the run.
    n_texts, n_parts
        Size of the whole corpus.
    n_texts_done, n_parts_done, n_failed
        Texts in finished parts, these parts, and the texts in them that could not be explained.
    drivers
        The processes at work, and those that were killed.
    """

    manifest: Manifest
    n_texts: int
    n_parts: int
    n_texts_done: int
    n_parts_done: int
    n_failed: int
    drivers: tuple[Driver, ...]

    @property
    def is_complete(self) -> bool:
        """Whether all parts are finished."""
        return self.n_parts_done == self.n_parts

    @property
    def texts_per_second(self) -> float | None:
        """Speed of all processes at work together; None if it is not known."""
        known = [driver.texts_per_second for driver in self.drivers if driver.texts_per_second is not None]
        return sum(known) if known else None

    @property
    def seconds_left(self) -> float | None:
        """Time until the last process at work has finished its shard; None if it is not known."""
        return max((driver.seconds_left for driver in self.drivers if driver.seconds_left is not None), default=None)


def read_status(path: str | os.PathLike[str]) -> Status:
    """Return how far the run in a folder or under a URI is. Only names and metadata of its files are read.

    Raises
    ------
    DataError
        If it is not the folder of a run, nothing was explained so far, or a file of it is missing, cannot be read
        or is of another run.
    MissingDependencyError
        If a package for the scheme of the URI is not installed.
    """
    run = open_run(path)
    parts = run.parts
    run.folder.check_whole(parts)
    return Status(
        manifest=run.manifest,
        n_texts=len(run),
        n_parts=run.plan.n_parts,
        n_texts_done=sum(len(run.plan.rows(part)) for part in parts),
        n_parts_done=len(parts),
        n_failed=sum(run.n_failed(part) for part in parts),
        drivers=tuple(Driver.of(owner) for owner in owners(run.folder.storage)),
    )
