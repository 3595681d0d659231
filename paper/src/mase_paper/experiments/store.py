"""Records on disk: one file per target and method, that outlives a kill and refuses what does not belong in it.

A file is lines of JSON: a header (an object that says which method, weights, data and machine), then records (arrays).
Where a later run goes on with other software or another machine, it adds a header of its own. Finished files are kept
gzipped.
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
from mase.files import check_writable, replacing
from mase.platforms import lock
from mase_paper.experiments.records import Record, dumps, loads

__all__ = ["IDENTITY", "RecordFile", "Records", "pack", "read", "record_path"]

# What must be the same for two records to stand in one file.
IDENTITY = ("schema", "target", "spec", "method", "model", "data", "text_seed", "precision", "operators", "columns")
_SYNC_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one file by the number of their text, with the headers in it, and which of these each record is under."""

    headers: tuple[Mapping[str, Any], ...]
    by_number: Mapping[int, Record]
    header_of: Mapping[int, int]


def record_path(folder: Path, target: str, spec: str) -> Path:
    """Return where the records of a spec on a target are, before they are packed."""
    return folder / target / f"{spec}.jsonl"


def read(path: Path) -> Records:
    """Return the records in a file, or in its packed form (`.jsonl.gz`); none if neither exists.

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
        if path.exists():
            content = path.read_bytes()
        elif _packed(path).exists():
            content = gzip.decompress(_packed(path).read_bytes())
        else:
            return []
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read {path}: {error}") from error
    return content.split(b"\n")[:-1]


def _parsed(line: bytes, place: str) -> Any:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}); remove the file, or run with --fresh") from error
    if not isinstance(value, dict | list):
        raise DataError(f"{place} is a {type(value).__name__}, expected an object or an array")
    return value


def _packed(path: Path) -> Path:
    return path.with_name(f"{path.name}.gz")


def pack(path: Path) -> None:
    """Replace a file by its gzipped form, whose bytes depend on the content only.

    Nothing happens if there is none, or while another run writes to it.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        if _lock(file):
            with replacing(_packed(path)) as draft:
                draft.write_bytes(gzip.compress(file.read(), mtime=0))
            path.unlink()


def _lock(file: IO[bytes]) -> bool:
    """Return whether the file is now this run's alone, until it is closed."""
    return lock(file) and os.fstat(file.fileno()).st_nlink > 0  # else another run has just packed it


@dataclass(slots=True)
class RecordFile:
    """One file that records are appended to; `done` are the numbers of the texts that it holds.

    Each record is handed to the system at once, so that a killed run loses the texts in flight only; the disk is made
    to write every ten seconds and when the file is closed.
    """

    path: Path
    header: Mapping[str, Any]
    fresh: bool = False
    done: set[int] = field(init=False)
    _file: IO[bytes] | None = field(init=False, default=None)
    _synced: float = field(init=False, default=0.0)
    _told: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.header = json.loads(json.dumps(self.header))  # tuples are lists when they are read back
        if self.fresh:
            self.path.unlink(missing_ok=True)
            _packed(self.path).unlink(missing_ok=True)
        known = read(self.path)
        for header in known.headers:
            _check_same(header, self.header, self.path)
        self.done = set(known.by_number)
        self._told = bool(known.headers) and known.headers[-1] == self.header

    def append(self, record: Record) -> None:
        """Write a record, after a header if the file has none of this run.

        Raises
        ------
        DataError
            If the file cannot be written, or another run writes to it.
        """
        file = self._open()
        head = b"" if self._told else json.dumps(self.header, sort_keys=True).encode() + b"\n"
        try:
            file.write(head + dumps(record).encode())
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync()
        except OSError as error:
            raise DataError(
                f"cannot write {self.path}: {error.strerror or error}; free some space and run again"
            ) from error
        self._told = True
        self.done.add(record.number)

    def close(self) -> None:
        """Make the disk write and let go of the file."""
        if self._file is not None:
            self._sync()
            self._file.close()
            self._file = None

    def _open(self) -> IO[bytes]:
        if self._file is None:
            check_writable(self.path)
            _unpack(self.path)
            self._file = self.path.open("ab", buffering=0)
            if not _lock(self._file):
                raise DataError(f"{self.path} is being written by another run; wait for it, or use another --output")
            _drop_torn_line(self.path)
            self._synced = time.monotonic()
        return self._file

    def _sync(self) -> None:
        assert self._file is not None
        os.fsync(self._file.fileno())
        self._synced = time.monotonic()


def _check_same(theirs: Mapping[str, Any], ours: Mapping[str, Any], path: Path) -> None:
    for key in IDENTITY:
        if theirs.get(key) != ours.get(key):
            raise DataError(
                f"{path} holds records with {key} {theirs.get(key)!r}, expected {ours.get(key)!r}; "
                "make them with the same, or use another --output (--fresh drops them)"
            )


def _unpack(path: Path) -> None:
    if path.exists() or not _packed(path).exists():
        return
    content = b"\n".join([*_whole_lines(path), b""])
    with replacing(path) as draft:
        draft.write_bytes(content)
    _packed(path).unlink()


def _drop_torn_line(path: Path) -> None:
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
