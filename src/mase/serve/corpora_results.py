"""A file of results, as `mase explain -o` writes it, as a run."""

import codecs
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mase.attribution import Attribution
from mase.corpus.columns import Rows
from mase.corpus.folder import Folder
from mase.corpus.manifest import Asked, Manifest
from mase.corpus.opened import Run, open_run
from mase.corpus.source import Item
from mase.corpus.storage import storage_of
from mase.errors import DataError
from mase.files import cannot_read, writing
from mase.io.json import Failure, loads
from mase.io.schema import SCHEMA

__all__ = ["run_of_results"]

# A part is in memory at a time.
PART_SIZE = 64
LONGEST_LINE = 64 << 20


def run_of_results(path: Path, folder: Path, tell: Callable[[float], None]) -> Run:
    """Write the results in a file of JSON lines as a run to a new folder, and return it.

    An incomplete last line is left out: another process may be writing it.

    Parameters
    ----------
    path
        The file.
    folder
        The folder of the run, which does not exist.
    tell
        Is called with the share of the file that was read.
    """
    with writing(folder):
        folder.mkdir(parents=True)
    target, made = Folder(storage_of(folder)), _Made()
    rows = _new_rows()
    for result, share in _results(path):
        item = Item(made.n, str(made.n + 1), None)
        if isinstance(result, Failure):
            rows.add_failure(item, result.error, result.message, 0.0)
        else:
            made.check(result, f"{os.fspath(path)!r}, result {made.n + 1}")
            rows.add(item, result, result.fit.seconds)
        made.n += 1
        if made.n % PART_SIZE == 0:
            target.write(made.n // PART_SIZE - 1, rows.tables(), {})
            rows = _new_rows()
        tell(share)
    if not made.n:
        raise DataError(f"{os.fspath(path)!r} has no results, expected lines of JSON of schema {SCHEMA}")
    if made.n % PART_SIZE:
        target.write(made.n // PART_SIZE, rows.tables(), {})
    target.create(made.manifest())
    return open_run(folder)


class _Made:
    """The number of results so far, and what they share."""

    def __init__(self) -> None:
        self.n = 0
        self.first: Attribution | None = None

    def check(self, found: Attribution, place: str) -> None:
        """Check that a result is of the same model and method as the first one."""
        first = self.first = self.first or found
        for what, got, expected in (
            ("model", found.model, first.model),
            ("method", found.method, first.method),
        ):
            if got["name"] != expected["name"]:
                raise DataError(
                    f"{place} has the {what} {got['name']!r:.100}, expected {expected['name']!r:.100} as in the first "
                    "one; make a file for each"
                )

    def manifest(self) -> Manifest:
        """Return what the results say was asked."""
        first = self.first
        settings: dict[str, Any] = {"model": {"name": "no model"}, "method": {"name": "no method"}, "seed": 0}
        if first is not None:
            settings = {"model": dict(first.model), "method": dict(first.method), "seed": first.seed}
        return Manifest(
            asked=Asked(**settings, target=None, input={}, n_texts=self.n, part_size=PART_SIZE),
            made_with={} if first is None else dict(first.versions),
            labels=() if first is None else first.prediction.names,
            created="",
        )


def _new_rows() -> Rows:
    return Rows((), documents=True, worker="")


def _results(path: Path) -> Iterator[tuple[Attribution | Failure, float]]:
    """Yield the results in a file, each with the share of the file that was read."""
    name = os.fspath(path)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, from which reading may never end
            raise DataError(f"{name!r} is not a regular file, expected a file of results")
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
                place = f"{name!r}, line {number}"
                if len(line) == LONGEST_LINE:
                    raise DataError(f"{place} has more than {LONGEST_LINE:,} bytes, expected the result of one text")
                content = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                found = _result(content, place) if content.strip() else None
                if found is not None:
                    yield found, min(1.0, file.tell() / max(size, 1))
    except DataError:
        raise
    except (OSError, ValueError) as error:  # A path with a NUL character raises ValueError.
        raise cannot_read(path, error) from error


def _result(line: bytes, place: str) -> Attribution | Failure | None:
    """Return the result in a line; None if its line end is missing and it is incomplete."""
    try:
        return loads(line, place=place)
    except DataError:
        if line.endswith(b"\n"):
            raise
        return None
