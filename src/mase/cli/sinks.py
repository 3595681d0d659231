"""Where results go: lines of JSON, heat maps on the terminal, one HTML page. Each takes one result at a time."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from mase.attribution import Attribution
from mase.cli.group import tell
from mase.cli.progress import Progress
from mase.files import writing
from mase.io.json import Failure, dumps
from mase.render.html import write_page
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
    """Lines of JSON in a file. What was there before goes when the first result comes, and not earlier."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.lines: JsonLines | None = None

    def add(self, result: Attribution | Failure) -> None:
        """Write a line and see it through to the system."""
        with writing(self.path):
            if self.lines is None:
                self.lines = JsonLines(self.path.open("wb"))
            self.lines.add(result)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.lines is None:
            return
        with writing(self.path):
            self.lines.stream.close()
        tell(f"wrote {click.format_filename(self.path)}")


class HeatMaps:
    """Prints a heat map per attribution; several are kept apart by their numbers."""

    def __init__(self, console: Console, progress: Progress, *, numbered: bool) -> None:
        self.console, self.progress, self.numbered = console, progress, numbered
        self.number = 0

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

    def __init__(self, path: str) -> None:
        self.path = path
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.attributions:
            n_failed = self.n_results - len(self.attributions)
            write_page(self.attributions, self.path, numbers=self.numbers, n_failed=n_failed)
            tell(f"wrote {click.format_filename(self.path)}")
        elif self.n_results:
            tell(f"no text was explained: {click.format_filename(self.path)} was not written")
