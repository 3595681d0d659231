"""Where results go: lines of JSON, heat maps on the terminal, one HTML page. Each takes one result at a time."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from io import FileIO
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from mase.attribution import Attribution
from mase.cli.group import tell
from mase.cli.output_files import Claim
from mase.cli.progress import Progress
from mase.cli.resume import Earlier
from mase.files import writing
from mase.io.json import Failure, dumps
from mase.render.html import page
from mase.render.terminal import heat_map

__all__ = ["HeatMaps", "HtmlPage", "JsonFile", "JsonLines", "Sink"]


class Sink(Protocol):
    """What takes results, in order."""

    def add(self, result: Attribution | Failure) -> None:
        """Take the next result."""
        ...


class JsonLines:
    """Writes one line of JSON per result at once, so that no later failure can lose it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add(self, result: Attribution | Failure) -> None:
        """Write a line and see it through to the system."""
        self.stream.write(dumps(result).encode() + b"\n")
        self.stream.flush()


class JsonFile(AbstractContextManager["JsonFile"]):
    """Lines of JSON in a file: whole ones, whatever goes wrong."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self._file: FileIO | None = None
        self._end = 0  # of the last whole line
        self._lasts = not claim.output.is_stream

    def earlier(self) -> Iterator[Attribution | Failure]:
        """Yield the results that are there already; a torn last line is cut off when all of them have been asked for.

        Raises
        ------
        DataError
            If the file holds something else, or cannot be read or written.
        """
        found = Earlier(self.claim.place)
        yield from found
        self._end = found.end
        if found.is_torn:
            self._open()
            tell(
                f"{click.format_filename(self.claim.place)}: the last line is not whole; it is cut off and explained again"
            )

    def add(self, result: Attribution | Failure) -> None:
        """Write a line and see it through to the system; of a line that does not fit, nothing is left."""
        line = dumps(result).encode() + b"\n"
        with writing(self.claim.output.name):
            file, left = self._open(), memoryview(line)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:
                if self._lasts:
                    file.truncate(self._end)
                raise
        self._end += len(line)

    def _open(self) -> FileIO:
        """Return the file, open behind the last whole line."""
        if self._file is None:
            with writing(self.claim.output.name):
                self._file = FileIO(self.claim.place, "r+" if self._lasts else "w")
                if self._lasts:
                    self._file.truncate(self._end)
                    self._file.seek(self._end)
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_new = self._file is not None
        if self._file is not None:
            with writing(self.claim.output.name), self._file as file:
                if self._lasts:
                    os.fsync(file.fileno())
        if not self._end:
            return
        if kind is None:
            self.claim.finish()
        if is_new or self.claim.is_draft:
            self.claim.report(complete=kind is None)


class HeatMaps:
    """Prints a heat map per attribution; several are kept apart by their numbers, of which `n_before` are gone."""

    def __init__(self, console: Console, progress: Progress, *, numbered: bool, n_before: int = 0) -> None:
        self.console, self.progress, self.numbered = console, progress, numbered
        self.number = n_before

    def add(self, result: Attribution | Failure) -> None:
        """Print an attribution; a failure is told on standard error instead."""
        self.number += 1
        if isinstance(result, Failure):
            return
        with self.progress.paused():
            if self.numbered:
                self.console.print(Rule(Text(f"{self.number}"), align="left", style="dim"))
            self.console.print(heat_map(result))
            if self.numbered:
                self.console.print()
        self.console.file.flush()


class HtmlPage:
    """Collects attributions and writes the page when the run is over, however it ended."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.attributions: list[Attribution] = []
        self.numbers: list[int] = []
        self.n_results = 0

    def add(self, result: Attribution | Failure) -> None:
        """Keep an attribution for the page, with its number."""
        self.n_results += 1
        if not isinstance(result, Failure):
            self.attributions.append(result)
            self.numbers.append(self.n_results)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.attributions:
            n_failed = self.n_results - len(self.attributions)
            self.claim.write(page(self.attributions, numbers=self.numbers, n_failed=n_failed), complete=kind is None)
        elif self.n_results:
            tell(f"no text was explained: {click.format_filename(self.claim.output.name)} was not written")
