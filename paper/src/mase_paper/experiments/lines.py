"""Records as lines of JSON in a file: a script writes each one as soon as it is made, and a later run goes on."""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mase.errors import DataError
from mase.files import check_writable, drop_cut_line, read_bytes, writing
from mase.platforms import lock

__all__ = ["Lines", "continued", "read_lines", "write_whole"]


@dataclass(frozen=True, slots=True)
class Lines:
    """A file that a run appends records to.

    Attributes
    ----------
    path
        Path of the file.
    known
        The records that the file had.
    made_with
        What is written into every record, and must be the same in all of them: settings that are not part of a key.
    """

    path: Path
    known: tuple[dict[str, Any], ...]
    made_with: Mapping[str, Any]
    _file: IO[bytes]
    _other: str | None

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records at once: after a kill, the file has all of them or none."""
        if self._other is not None:
            raise DataError(self._other)
        told = "".join(json.dumps({**record, **self.made_with}) + "\n" for record in records).encode()
        before = self.path.stat().st_size
        try:
            with writing(self.path):
                write_whole(self._file, told)
        except BaseException:
            os.truncate(self.path, before)
            raise


@contextmanager
def continued(path: Path, made_with: Mapping[str, Any] | None = None) -> Iterator[Lines]:
    """Open a file of records to append to, and create it if there is none.

    A last line that a kill cut off is removed.

    Parameters
    ----------
    path
        Path of the file.
    made_with
        See `Lines`.
    """
    with writing(path):
        file = check_writable(path).open("ab", buffering=0)
    with file:
        if not lock(file):
            raise DataError(f"{str(path)!r} is being written by another run; wait for it, or write to another folder")
        known = tuple(read_lines(path))
        drop_cut_line(path)
        yield Lines(path, known, made_with or {}, file, _other(path, known, made_with or {}))


def _other(path: Path, known: Iterable[Mapping[str, Any]], made_with: Mapping[str, Any]) -> str | None:
    """Return what is wrong with adding to known records, or None if nothing is."""
    for item in known:
        for name, value in made_with.items():
            if item.get(name) != value:
                got = f"with {name} {item[name]!r}" if name in item else f"that do not say their {name}"
                return (
                    f"{str(path)!r} has records {got}, expected {name} {value!r}; run with the same settings, or move "
                    "the file away"
                )
    return None


def write_whole(file: IO[bytes], content: bytes) -> None:
    """Write all of `content` to a file without a buffer, which writes only a part if the disk is nearly full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def read_lines(path: Path, same: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return the records of a file; none if there is no such file. A last line that was cut off is left out.

    Parameters
    ----------
    path
        Path of the file.
    same
        Names of what all records must have been made with, as in `Lines`.
    """
    if not path.exists():
        return []
    result = [_parsed(line, f"{path}, line {n}") for n, line in enumerate(read_bytes(path).split(b"\n")[:-1], 1)]
    other = _other(path, result, {name: result[0].get(name) for name in same} if result else {})
    if other is not None:
        raise DataError(other)
    return result


def _parsed(line: bytes, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DataError(f"{place} is not JSON ({error}); remove the line, and it is made again") from error
    if not isinstance(value, dict):
        raise DataError(f"{place} is a {type(value).__name__}, expected an object; remove the line")
    return value
