"""The folder of a run while it is written: who may add parts to it, and what they say of their origin."""

import time
from collections import deque
from collections.abc import Mapping, Set
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from mase.errors import DataError
from mase.models.origin import as_recorded
from mase_corpora.engines import Ready
from mase_corpora.folder import Folder, check_there
from mase_corpora.lock import Lock
from mase_corpora.plan import ASKED, Asked, Manifest, asked_sha256, check_same
from mase_corpora.read import Run, count_failures
from mase_corpora.schema import TABLES
from mase_corpora.worker import Description

# Key of the metadata of a part that was made with other versions or processors than `run.json` says.
MADE_WITH = "made_with"
# Parts that are written at the same time, each in a thread: while one waits for the disk, the driver goes on.
_AT_ONCE = 4
_OTHER_SETTINGS = "repeat the command that began the run, choose another output, or pass fresh=True"
_OTHER_INPUT = "give the same input with the same options, choose another output, or pass fresh=True"
_OTHER_CLASSES = "give the model that began the run, choose another output, or pass fresh=True"
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
    result = Manifest.decode(manifest.encode(), "the manifest")
    return msgspec.structs.replace(result, asked_sha256=asked_sha256(result.asked, result.labels))


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
    """

    def __init__(self, folder: Folder, lock: Lock, manifest: Manifest, *, allow_other_versions: bool) -> None:
        self.folder, self.lock, self._manifest = folder, lock, manifest
        self._allow_other_versions = allow_other_versions
        self._made_with: dict[str, Mapping[str, Any]] = {}
        self._replaced: dict[int, list[Mapping[str, Any]]] = {}  # with what else than `run.json` says they were made
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
        """Check that a worker makes the same tables as the others."""
        asked = msgspec.to_builtins(self._manifest.asked)
        other = manifest_of(ready.description, **{name: asked[name] for name in asked if name not in _OF_THE_WORKER})
        _check_settings(msgspec.to_builtins(other.asked), asked, f"this is what worker {ready.worker} has")
        _check_classes(other, self._manifest, f"this is what worker {ready.worker} has")
        if not self._allow_other_versions:
            check_same("environment", other.made_with, self._manifest.made_with, _OTHER_VERSIONS)
        self._made_with[ready.worker] = other.made_with

    def has_explained(self) -> bool:
        """Return whether any text of the finished parts was explained."""
        plan = Run(self.folder, self._manifest).plan
        return any(count_failures(self.folder, part) < len(plan.rows(part)) for part in self.finished)

    def explained(self, part: int, failed: Set[int]) -> dict[int, Mapping[str, pa.Table]]:
        """Return the tables of a finished part without its failed texts, in pieces by their first row.

        The part is replaced when it is written.
        """
        run = Run(self.folder, self._manifest)
        with self.folder.opened("texts", part) as (file, _):
            metadata = file.schema_arrow.metadata or {}
        self._replaced[part] = msgspec.json.decode(metadata.get(MADE_WITH.encode(), b"[]"))
        tables, rows = {table: run.part(table, part) for table in TABLES}, run.plan.rows(part)
        cuts = pairwise((rows.start - 1, *sorted(failed), rows.stop))
        pieces, row = ((before + 1, stop) for before, stop in cuts if before + 1 < stop), pc.field("row")
        return {
            start: {name: table.filter((row >= start) & (row < stop)) for name, table in tables.items()}
            for start, stop in pieces
        }

    def begin(self) -> None:
        """Write `run.json`, if that was not done."""
        if not self._is_begun and not self.folder.create(self._manifest):
            self._compare(self.folder.manifest())
        self._is_begun = True

    def write(self, part: int, tables: Mapping[str, pa.Table], workers: Set[str]) -> None:
        """Begin to write a part that the named workers have made; wait if as many as possible are being written."""
        self.begin()
        origins = [self._made_with[worker] for worker in sorted(workers) if worker in self._made_with]
        others = [origin for origin in origins if origin != self._manifest.made_with]
        others = [*(origin for origin in self._replaced.get(part, ()) if origin not in others), *others]
        metadata = {MADE_WITH: msgspec.json.encode(others).decode()} if others else {}
        if self._manifest.asked_sha256 is not None:
            metadata[ASKED] = self._manifest.asked_sha256
        if len(self._writes) == _AT_ONCE:
            self._writes.popleft().result()
        self._writes.append(self._pool.submit(self._write, part, tables, metadata))

    def _write(self, part: int, tables: Mapping[str, pa.Table], metadata: Mapping[str, str]) -> None:
        check_there(self.folder.storage)  # or else a folder that was moved would be made again, with this part alone
        try:
            self.folder.write(part, tables, metadata)
        except DataError:
            check_there(self.folder.storage)
            raise

    def check(self) -> None:
        """Check that the lock is still this process's, and that parts could be written."""
        self.lock.check()
        while self._writes and self._writes[0].done():
            self._writes.popleft().result()

    def finish(self) -> None:
        """Wait until all parts are written that were begun."""
        while self._writes:
            self._writes.popleft().result()

    def _compare(self, result: Manifest | None) -> None:
        if result is None:
            return
        got, expected = (msgspec.to_builtins(manifest.asked) for manifest in (self._manifest, result))
        _check_estimator(expected)
        check_same("input", {"input": got.pop("input")}, {"input": expected.pop("input")}, _OTHER_INPUT)
        _check_settings(got, expected, _OTHER_SETTINGS)
        _check_classes(self._manifest, result, _OTHER_CLASSES)
        if not self._allow_other_versions:
            check_same("environment", self._manifest.made_with, result.made_with, _OTHER_VERSIONS)
        self._manifest, self._is_begun = result, True


def _check_estimator(expected: dict[str, Any]) -> None:
    """Check that a run is not of an estimator that is no longer there."""
    estimator = expected["method"].get("estimator")
    if isinstance(estimator, dict) and estimator.get("name") == "gaussian-process":
        raise DataError(
            "the run was made with the estimator gaussian-process, which version 0.3 replaced by kernel-ridge: the "
            "rest of its texts would get other scores; use another folder, or the version that began the run"
        )


def _check_settings(got: dict[str, Any], expected: dict[str, Any], remedy: str) -> None:
    """Check that two runs were asked for the same; those of earlier releases say less of the model."""
    model = as_recorded(got["model"], expected["model"])
    check_same("setting", got | {"model": model}, expected, remedy)


def _check_classes(got: Manifest, expected: Manifest, remedy: str) -> None:
    """Check that two manifests have the same classes in the same order."""
    classes, others = ({"labels": list(manifest.labels)} for manifest in (got, expected))
    check_same("class", classes, others, remedy)


# What a worker says of itself; the rest of `Asked` is of the command.
_OF_THE_WORKER = ("model", "method", "seed", "target", "against")
