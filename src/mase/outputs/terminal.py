"""Heat maps: in colours on a terminal, as plain text in a file."""

import codecs
from typing import IO, BinaryIO, cast

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from mase.attribution import Attribution
from mase.io.json import Failure
from mase.render.terminal import heat_map

__all__ = ["HeatMaps", "TextFile"]

_WIDTH = 100


class HeatMaps:
    """Prints a heat map per attribution, with the number of its text if there are several. Failures are skipped."""

    def __init__(self, console: Console, *, numbered: bool, details: bool = False) -> None:
        self.console, self.numbered, self.details = console, numbered, details

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Print an attribution."""
        if isinstance(result, Failure):
            return
        if self.numbered:
            self.console.print(Rule(Text(f"{number}"), align="left", style="dim"))
        self.console.print(heat_map(result, details=self.details))
        if self.numbered:
            self.console.print()
        self.console.file.flush()

    def close(self) -> None:
        """Print nothing."""


class TextFile:
    """Writes heat maps as a terminal without colours shows them, and one line with the error for each failure."""

    def __init__(self, stream: BinaryIO) -> None:
        self.console = Console(
            file=cast(IO[str], codecs.getwriter("utf-8")(stream)), width=_WIDTH, no_color=True, highlight=False
        )
        self._maps = HeatMaps(self.console, numbered=True, details=True)

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write a heat map, or the message of a failure."""
        if isinstance(result, Failure):
            self.console.print(Text(f"{number}: {result.error}: {result.message}"))
        self._maps.add(number, result)

    def close(self) -> None:
        """Write nothing."""
