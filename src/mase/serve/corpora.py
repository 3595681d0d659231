"""The corpora of the server: each is read by a process of its own when somebody looks at it, and shown as a report."""

import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from mase.corpus.storage import storage_of
from mase.errors import DataError, MaseError, WorkerError
from mase.files import cannot_read
from mase.lazy import require
from mase.render.pieces import inline
from mase.serve.corpora_process import Reading

__all__ = ["Corpora", "Corpus", "Failure", "Preparing", "Version"]

# Seconds for which a version is not compared with its source: a run under way may grow faster than it is read.
FRESH = 5.0
_LARGEST_MANIFEST = 64 << 20
_KEPT_VERSIONS = 2


@dataclass(frozen=True, slots=True)
class Version:
    """A report of a corpus as it was at some moment.

    Attributes
    ----------
    number
        Its number, from 1.
    folder
        The folder of the report.
    policy
        The security policy of its page.
    state
        What the corpus was like; see `_state`.
    made
        When it was finished, by the monotonic clock.
    """

    number: int
    folder: Path
    policy: str
    state: str
    made: float


@dataclass(frozen=True, slots=True)
class Preparing:
    """A report is being made: `share` is done. `former` is the version before, if there is one."""

    share: float
    former: Version | None


@dataclass(frozen=True, slots=True)
class Failure:
    """The corpus cannot be shown: the name of the type of the error, and its message."""

    error: str
    message: str


class Corpus:
    """A run or a file of results, and its reports.

    Parameters
    ----------
    source
        Folder or URI of a run, or a file of results. It is only read.
    folder
        A folder for the reports.
    pool
        Threads that wait for the processes that read: as many as may read at the same time.
    columns
        Label column and group column of a run.
    """

    def __init__(
        self, source: str, folder: Path, pool: ThreadPoolExecutor, columns: tuple[str | None, str | None]
    ) -> None:
        self.source = source
        self._folder, self._pool, self._columns = folder, pool, columns
        self._versions: dict[int, Version] = {}
        self._n_begun, self._share, self._closed = 0, 0.0, False
        self._job: Future[Version | Failure] | None = None
        self._reading: Reading | None = None
        self._lock = Lock()

    def look(self) -> Version | Preparing | Failure:
        """Return the newest version if it shows the corpus as it is; else begin to make one, or say how far that is.

        A failure is returned once, then it is tried again.
        """
        with self._lock:
            if self._job is not None and self._job.done():
                job, self._job = self._job, None
                found = job.result()
                if isinstance(found, Failure):
                    return found
                self._versions[found.number] = found
                self._forget()
            if self._job is None:
                newest = self.newest
                if newest is not None and (
                    time.monotonic() - newest.made < FRESH or newest.state == _state(self.source)
                ):
                    return newest
                self._n_begun += 1
                self._share = 0.0
                self._job = self._pool.submit(self._prepare, self._n_begun)
            return Preparing(self._share, self.newest)

    @property
    def newest(self) -> Version | None:
        """The newest version."""
        return self._versions.get(max(self._versions, default=0))

    @property
    def share(self) -> float | None:
        """The share of a new version that is made; None if none is being made."""
        job = self._job
        return None if job is None or job.done() else self._share

    def version(self, number: str) -> Version | None:
        """Return a version by its number as an address has it; None if there is none, or it was deleted."""
        return next((found for found in list(self._versions.values()) if str(found.number) == number), None)

    def close(self) -> None:
        """End the process that reads."""
        self._closed = True
        if self._reading is not None:
            self._reading.end()

    def _prepare(self, number: int) -> Version | Failure:
        folder = self._folder / str(number)
        state = _state(self.source)
        try:
            folder.mkdir(parents=True)
            self._reading = Reading(self.source, folder, *self._columns)
            if self._closed:
                self._reading.end()
            last = self._reading.follow(self._tell)
            if last.error is not None:
                shutil.rmtree(folder, ignore_errors=True)
                return Failure(last.error, last.message)
            return Version(number, folder / "report", last.policy, state, time.monotonic())
        except WorkerError as error:
            return Failure(type(error).__name__, str(error))
        except OSError as error:
            return Failure(DataError.__name__, f"the report of {self.source!r} cannot be written: {error}")

    def _tell(self, share: float) -> None:
        self._share = share

    def _forget(self) -> None:
        """Delete old versions. A page that is still open may need the one before the newest."""
        for number in sorted(self._versions)[:-_KEPT_VERSIONS]:
            shutil.rmtree(self._versions.pop(number).folder.parent, ignore_errors=True)


class Corpora:
    """The corpora of a server, by their numbers as addresses have them: "0", "1" and so on.

    Parameters
    ----------
    sources
        Folders or URIs of runs, and files of results.
    label_column, group_column
        Kept columns of the runs, as of `mase.summary.summarise`.
    """

    def __init__(
        self,
        sources: Sequence[str | os.PathLike[str]],
        label_column: str | None = None,
        group_column: str | None = None,
    ) -> None:
        for package in ("pyarrow", "duckdb") if sources else ():
            require(package, "corpora")
        self._scratch = TemporaryDirectory(prefix="mase-serve-", ignore_cleanup_errors=True)
        self._pool = ThreadPoolExecutor(1)  # one is read at a time, which bounds the memory
        self.by_number: Mapping[str, Corpus] = {
            str(number): Corpus(
                os.fspath(source), Path(self._scratch.name) / str(number), self._pool, (label_column, group_column)
            )
            for number, source in enumerate(sources)
        }

    @property
    def entries(self) -> list[dict[str, str]]:
        """Name and address of each corpus, for the page of the workbench; names are as `inline` shows them."""
        return [
            {"name": inline(found.source), "href": f"/corpora/{number}/"} for number, found in self.by_number.items()
        ]

    def close(self) -> None:
        """End the process that reads, and delete all that was written."""
        for corpus in self.by_number.values():
            corpus.close()
        self._pool.shutdown(cancel_futures=True)
        self._scratch.cleanup()


def _state(source: str) -> str:
    """Return what tells one state of a corpus from another: the names of a run's parts and its manifest, or a file's
    size and time. A corpus that cannot be read has its error as its state.
    """
    try:
        if "://" not in source and not Path(source).is_dir():
            found = Path(source).stat()
            return f"{found.st_ino} {found.st_size} {found.st_mtime_ns}"
        storage = storage_of(source)
        manifest = b"" if storage.size("run.json") > _LARGEST_MANIFEST else storage.read("run.json")
        names = "\n".join(storage.names("texts"))
        return hashlib.sha256(manifest + names.encode(errors="surrogateescape")).hexdigest()
    except MaseError as error:
        return str(error)
    except (OSError, ValueError) as error:
        return str(cannot_read(source, error))
