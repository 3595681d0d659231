"""The folder of a run while it is written: who may add parts to it, and what they say of their origin."""

import time
from collections.abc import Mapping, Set
from typing import Any

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
            target=description.target,
            **asked,
        ),
        made_with=dict(description.made_with),
        labels=description.labels,
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    )
    return Manifest.decode(manifest.encode(), "the manifest")


class Writer:
    """Writes the parts of a run.

    `run.json` is written before the first part, so that a command that explains nothing leaves no run.

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
        self.finished = folder.finished()
        self._compare(folder.manifest())

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
        """Write a part that the named workers have made.

        Raises
        ------
        DataError
            As for `begin`.
        """
        self.begin()
        origins = [self._made_with[worker] for worker in sorted(workers) if worker in self._made_with]
        others = [origin for origin in origins if origin != self._manifest.made_with]
        metadata = {MADE_WITH: msgspec.json.encode(others).decode()} if others else {}
        self.folder.write(part, tables, metadata)

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
_OF_THE_WORKER = ("model", "method", "seed", "target")
