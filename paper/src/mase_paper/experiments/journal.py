"""The journal of one method on one target: records are appended to it while a run goes on, and none is lost by a kill.

A journal is lines of JSON: a header (an object that says which method, weights, data and machine), then records
(arrays). Where a later run goes on with other software or another machine, it adds a header of its own.
"""

import gzip
import json
import os
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from mase.errors import DataError
from mase.files import check_writable, writing
from mase.platforms import lock, locked
from mase_paper.experiments.records import Record, Records, dumps, loads

__all__ = ["IDENTITY", "Journal", "in_use", "journal_path", "read_journal"]

# What must be the same for two records of one method on one target to stand side by side.
IDENTITY = ("schema", "target", "spec", "method", "model", "data", "text_seed", "precision", "operators", "columns")
_SYNC_SECONDS = 10.0


def journal_path(folder: Path, target: str, spec: str) -> Path:
    """Return where a run appends the records of a spec on a target."""
    return folder / target / f"{spec}.jsonl"


def read_journal(path: Path) -> Records:
    """Return the records in a journal, gzipped if its name ends in ``.gz``; none if there is no such file.

    A last line that was torn by a kill is left out. Of two records of one text the first counts.

    Raises
    ------
    DataError
        If the file cannot be read or does not hold records.
    """
    headers: list[Mapping[str, Any]] = []
    found: dict[int, Record] = {}
    above: dict[int, int] = {}
    for number, line in enumerate(_whole_lines(path), 1):
        value = _parsed(line, f"{path}, line {number}")
        if isinstance(value, dict):
            headers.append(value)
        elif not headers:
            raise DataError(f"{path} begins with a record, expected a header; remove the file, or run with --fresh")
        else:
            record = loads(value, f"{path}, line {number}")
            if record.number not in found:
                found[record.number], above[record.number] = record, len(headers) - 1
    return Records(tuple(headers), found, above)


def _whole_lines(path: Path) -> list[bytes]:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}") from error


def _parsed(line: bytes, place: str) -> Any:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}); remove the file, or run with --fresh") from error
    if not isinstance(value, dict | list):
        raise DataError(f"{place} is a {type(value).__name__}, expected an object or an array")
    return value


def in_use(path: Path) -> bool:
    """Return whether another run appends to a journal; on systems without locks, False."""
    with path.open("rb") as file:
        return not lock(file)


@dataclass(slots=True)
class Journal:
    """The journal that one run appends to.

    Each record is handed to the system at once, so that a killed run loses the texts in flight only; the disk is made
    to write every ten seconds and when the journal is closed.

    Attributes
    ----------
    folder
        Of the records of all targets.
    header
        What the records have in common; it names their target and spec.
    known
        Records of the same spec and target that there are already.
    done
        The numbers of the texts that need no record any more.

    Raises
    ------
    DataError
        If the known records were made with something else than the header says.
    """

    folder: Path
    header: Mapping[str, Any]
    known: Records = field(default_factory=Records)
    done: set[int] = field(init=False)
    _file: IO[bytes] | None = field(init=False, default=None)
    _synced: float = field(init=False, default=0.0)
    _has_header: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.header = json.loads(json.dumps(self.header))  # tuples are lists when they are read back
        self._check_same(self.known)
        self.done = set(self.known.by_number)

    @property
    def path(self) -> Path:
        """Path of the journal."""
        return journal_path(self.folder, self.header["target"], self.header["spec"])

    def append(self, record: Record) -> None:
        """Write a record, after a header if the journal does not end with this run's.

        Raises
        ------
        DataError
            If the file cannot be written, or another run writes to it.
        """
        file = self._file or self._open()
        head = b"" if self._has_header else json.dumps(self.header, sort_keys=True).encode() + b"\n"
        try:
            file.write(head + dumps(record).encode())
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync(file)
        except OSError as error:
            raise DataError(
                f"cannot write {self.path}: {error.strerror or error}; free some space and run again"
            ) from error
        self._has_header = True
        self.done.add(record.number)

    def close(self) -> None:
        """Make the disk write and let go of the file."""
        if self._file is not None:
            self._sync(self._file)
            self._file.close()
            self._file = None

    def _open(self) -> IO[bytes]:
        """Open the file under the lock of the folder: until then another run may move the records out of it."""
        check_writable(self.path)
        with locked(self.folder), writing(self.path):
            self.path.parent.mkdir(exist_ok=True)
            own = read_journal(self.path)
            self._check_same(own)
            file = self.path.open("ab", buffering=0)
            if not lock(file):
                file.close()
                raise DataError(f"{self.path} is being written by another run; wait for it, or use another --output")
            _drop_torn_line(self.path)
        self._file, self._synced = file, time.monotonic()
        self._has_header = own.headers[-1:] == (self.header,)
        return file

    def _sync(self, file: IO[bytes]) -> None:
        os.fsync(file.fileno())
        self._synced = time.monotonic()

    def _check_same(self, known: Records) -> None:
        for header in known.headers:
            for key in IDENTITY:
                if header.get(key) != self.header.get(key):
                    raise DataError(
                        f"{self.folder} holds records of {self.header['spec']} on {self.header['target']} with {key} "
                        f"{header.get(key)!r}, expected {self.header.get(key)!r}; make them with the same, or use another "
                        "--output (--fresh drops them)"
                    )


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
