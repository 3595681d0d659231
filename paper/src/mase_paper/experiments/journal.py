"""Journals: the file to which a run appends the records of one method on one target, so that a kill loses none.

A journal consists of lines of JSON: first a header (an object with the method, weights, data and machine), then records
(arrays). If a later run resumes with other software or on another machine, it adds another header.
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
from mase.files import check_writable, drop_cut_line, writing
from mase.platforms import lock, locked
from mase_paper.experiments.lines import write_whole
from mase_paper.experiments.records import Record, Records, dumps, loads

__all__ = ["IDENTITY", "Journal", "in_use", "journal_path", "read_journal"]

# Header fields that all records of one method on one target must share.
IDENTITY = ("schema", "target", "spec", "method", "model", "data", "text_seed", "precision", "operators")
_SYNC_SECONDS = 10.0


def journal_path(folder: Path, target: str, configuration: str) -> Path:
    """Return the path of the journal of a configuration on a target."""
    return folder / target / f"{configuration}.jsonl"


def read_journal(path: Path) -> Records:
    """Return the records in a journal; no records if there is no such file.

    A name that ends in ``.gz`` is read as gzip. A last line that a kill left incomplete is ignored. If there are two
    records of a text, the first one counts.
    """
    headers: list[Mapping[str, Any]] = []
    records: dict[int, Record] = {}
    header_of: dict[int, int] = {}
    for number, line in enumerate(_whole_lines(path), 1):
        value = _parsed(line, f"{path}, line {number}")
        if isinstance(value, dict):
            headers.append(value)
        elif not headers:
            raise DataError(f"{path} begins with a record, expected a header; remove the file, or run with --fresh")
        else:
            record = loads(value, f"{path}, line {number}")
            if record.number not in records:
                records[record.number], header_of[record.number] = record, len(headers) - 1
    return Records(tuple(headers), records, header_of)


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
    """Return whether another run appends to a journal; always False on systems without locks."""
    with path.open("rb") as file:
        return not lock(file)


@dataclass(slots=True)
class Journal:
    """The journal that one run appends to.

    Each record is written to the operating system at once, so that a killed run loses only the texts in progress. The
    file is synced to the disk every ten seconds and when the journal is closed.

    Attributes
    ----------
    folder
        Folder of the records of all targets.
    header
        What the records have in common, with their target and configuration.
    known
        The existing records of the same configuration and target.
    done
        The numbers of the texts that have a record.
    """

    folder: Path
    header: Mapping[str, Any]
    known: Records = field(default_factory=Records)
    done: set[int] = field(init=False)
    _file: IO[bytes] | None = field(init=False, default=None)
    _synced: float = field(init=False, default=0.0)
    _has_header: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.header = json.loads(json.dumps(self.header))  # tuples become lists, as when they are read back
        self._check_same(self.known)
        self.done = set(self.known.by_number)

    @property
    def path(self) -> Path:
        """Path of the journal."""
        return journal_path(self.folder, self.header["target"], self.header["spec"])

    def append(self, record: Record) -> None:
        """Write a record, and before the first one this run's header, unless the journal's last header is equal."""
        file = self._file or self._open()
        head = b"" if self._has_header else json.dumps(self.header, sort_keys=True).encode() + b"\n"
        try:
            write_whole(file, head + dumps(record).encode())
            if time.monotonic() - self._synced > _SYNC_SECONDS:
                self._sync(file)
        except OSError as error:
            raise DataError(
                f"cannot write {self.path}: {error.strerror or error}; free some space and run again"
            ) from error
        self._has_header = True
        self.done.add(record.number)

    def close(self) -> None:
        """Sync the file to the disk and close it."""
        if self._file is not None:
            self._sync(self._file)
            self._file.close()
            self._file = None

    def _open(self) -> IO[bytes]:
        """Open the file under the lock of the folder, because another run may be moving its records."""
        check_writable(self.folder / self.path.name)
        with locked(self.folder), writing(self.path):
            check_writable(self.path)  # it creates the folder, which another run may have removed
            existing = read_journal(self.path)
            self._check_same(existing)
            file = self.path.open("ab", buffering=0)
            if not lock(file):
                file.close()
                raise DataError(f"{self.path} is being written by another run; wait for it, or use another --output")
            drop_cut_line(self.path)
        self._file, self._synced = file, time.monotonic()
        self._has_header = existing.headers[-1:] == (self.header,)
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
                        f"{header.get(key)!r}, expected {self.header.get(key)!r}; run with the same settings, or use "
                        "another --output (--fresh drops the records)"
                    )
