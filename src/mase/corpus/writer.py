"""The folder of a run while it is written: who may add parts to it, and what they say of their origin."""

import time
from collections import deque
from collections.abc import Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa

from mase.corpus.engines.protocol import Ready
from mase.corpus.failures import count_failures
from mase.corpus.folder import Folder
from mase.corpus.lock import Lock
from mase.corpus.manifest import Asked, Manifest, check_same
from mase.corpus.opened import Run
from mase.corpus.worker import Description

__all__ = ["MADE_WITH", "Writer", "manifest_of"]

# Key of the metadata of a part that was made with other versions or processors than `run.json` says.
MADE_WITH = "made_with"
# Parts that are written at the same time, each in a thread: while one waits for the disk, the driver goes on.
_AT_ONCE = 4

_OTHER_SETTINGS = "repeat the command that began the run, choose another output, or pass fresh=True"
_OTHER_INPUT = "give the same input, choose another output, or pass fresh=True"
_OTHER_VERSIONS = (
    "its last digits may differ from those of the other parts; use the same versions and processor, or pass "
    "allow_other_versions=True"
)


def manifest_of(description: Description, **asked: Any) -> Manifest:
    """Return what `run.json` says of a run that is begun now, as it is read back."""
    manifest = Manifest(
        asked=Asked(
            model=dict(description.model),
            method=dict(description.method),
            seed=description.seed,
            target=description.question.target,
            against=description.question.against,
            **asked,
        ),
        made_with=dict(description.made_with),
        labels=description.labels,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    return Manifest.decode(manifest.encode(), "the manifest")


class Writer:
    """Writes the parts of a run, a few at the same time.

    `run.json` is written before the first part, so that a command that explains nothing leaves no run. At the end of
    its context all parts are written that were begun, also after an error.

    Parameters
    ----------
    folder
        The folder, whose lock this process holds.
    lock
        The lock.
    manifest
        What this command asks for.
    allow_other_versions
        Whether parts may be made with other versions and processors than `run.json` says.

    Raises
    ------
    DataError
        If the folder is of another run, or of something else.
    """

    def __init__(self, folder: Folder, lock: Lock, manifest: Manifest, *, allow_other_versions: bool) -> None:
        self.folder, self.lock, self._manifest = folder, lock, manifest
        self._allow_other_versions = allow_other_versions
        self._made_with: dict[str, Mapping[str, Any]] = {}
        self._is_begun = False
        self._pool, self._writes = ThreadPoolExecutor(_AT_ONCE), deque[Future[None]]()
        self.finished = folder.finished()
        self._compare(folder.manifest())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown()

    def admit(self, ready: Ready) -> None:
        """Check that a worker makes the same tables as the others.

        Raises
        ------
        DataError
            If it does not.
        """
        asked = msgspec.to_builtins(self._manifest.asked)
        other = manifest_of(ready.description, **{name: asked[name] for name in asked if name not in _OF_THE_WORKER})
        check_same("setting", msgspec.to_builtins(other.asked), asked, f"this is what worker {ready.worker} has")
        if not self._allow_other_versions:
            check_same("environment", other.made_with, self._manifest.made_with, _OTHER_VERSIONS)
        self._made_with[ready.worker] = other.made_with

    def has_explained(self) -> bool:
        """Return whether any text of the finished parts was explained."""
        plan = Run(self.folder, self._manifest).plan
        return any(count_failures(self.folder, part) < len(plan.rows(part)) for part in self.finished)

    def begin(self) -> None:
        """Write `run.json`, if that was not done.

        Raises
        ------
        DataError
            If it cannot be written, or another process has begun another run in the folder.
        """
        if not self._is_begun and not self.folder.create(self._manifest):
            self._compare(self.folder.manifest())
        self._is_begun = True

    def write(self, part: int, tables: Mapping[str, pa.Table], workers: Set[str]) -> None:
        """Begin to write a part that the named workers have made; wait if as many as possible are being written.

        Raises
        ------
        DataError
            As for `begin`, or if an earlier part could not be written.
        """
        self.begin()
        origins = [self._made_with[worker] for worker in sorted(workers) if worker in self._made_with]
        others = [origin for origin in origins if origin != self._manifest.made_with]
        metadata = {MADE_WITH: msgspec.json.encode(others).decode()} if others else {}
        if len(self._writes) == _AT_ONCE:
            self._writes.popleft().result()
        self._writes.append(self._pool.submit(self.folder.write, part, tables, metadata))

    def check(self) -> None:
        """Check that the lock is still this process's, and that parts could be written.

        Raises
        ------
        LockedError, DataError
            If not.
        """
        self.lock.check()
        while self._writes and self._writes[0].done():
            self._writes.popleft().result()

    def finish(self) -> None:
        """Wait until all parts are written that were begun.

        Raises
        ------
        DataError
            If one could not be written.
        """
        while self._writes:
            self._writes.popleft().result()

    def _compare(self, found: Manifest | None) -> None:
        if found is None:
            return
        got, expected = (msgspec.to_builtins(manifest.asked) for manifest in (self._manifest, found))
        check_same("input", {"input": got.pop("input")}, {"input": expected.pop("input")}, _OTHER_INPUT)
        check_same("setting", got, expected, _OTHER_SETTINGS)
        if not self._allow_other_versions:
            check_same("environment", self._manifest.made_with, found.made_with, _OTHER_VERSIONS)
        self._manifest, self._is_begun = found, True


# What a worker says of itself; the rest of `Asked` is of the command.
_OF_THE_WORKER = ("model", "method", "seed", "target", "against")
