"""Where results go: lines of JSON, heat maps on the terminal, one HTML page. Each takes one result at a time."""

import sys
from contextlib import AbstractContextManager
from types import TracebackType
from typing import BinaryIO, Protocol, Self

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from mase.attribution import Attribution
from mase.cli.group import tell
from mase.cli.progress import Progress
from mase.files import cannot_write, check_writable
from mase.io.json import Failure, dumps
from mase.render.html import write_page
from mase.render.terminal import heat_map

__all__ = ["HeatMaps", "HtmlPage", "JsonLines", "Sink"]


class Sink(Protocol):
    """What takes results, in order."""

    def add(self, result: Attribution | Failure) -> None:
        """Take the next result."""
        ...


class JsonLines(AbstractContextManager["JsonLines"]):
    """Writes one line of JSON per result at once, so that no later failure can lose it. No path: standard output."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        if path is None:
            self.stream: BinaryIO = sys.stdout.buffer
            return
        try:
            self.stream = check_writable(path).open("wb")
        except OSError as error:
            raise cannot_write(path, error) from error

    def add(self, result: Attribution | Failure) -> None:
        """Write a line and see it through to the system."""
        try:
            self.stream.write(dumps(result).encode() + b"\n")
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise cannot_write(self.path or "standard output", error) from error

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.path is not None:
            self.stream.close()
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
        self.path = check_writable(path)
        self.attributions: list[Attribution] = []

    def add(self, result: Attribution | Failure) -> None:
        """Keep an attribution for the page."""
        if not isinstance(result, Failure):
            self.attributions.append(result)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.attributions:
            write_page(self.attributions, self.path)
            tell(f"wrote {click.format_filename(self.path)}")
