"""Progress of a run on standard error: a bar if it is a terminal, and a closing line."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from mase.cli.group import tell
from mase.render.facts import counted, duration

__all__ = ["Progress"]


def _is_terminal(console: Console) -> bool:
    """Return whether the console can show a bar. FORCE_COLOR makes a log look like a terminal, so ask the stream."""
    return console.is_terminal and not console.is_dumb_terminal and sys.stderr.isatty()


class Progress:
    """Counts texts and shows a bar, which is hidden while something else is printed.

    Parameters
    ----------
    total
        Number of texts, or None if it is unknown.
    doing, done
        Words for the work and its result, such as "explaining" and "explained".
    """

    def __init__(self, total: int | None, doing: str = "explaining", done: str = "explained") -> None:
        console = Console(stderr=True)
        columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Bar(*columns, console=console, transient=True, disable=total == 1 or not _is_terminal(console))
        self.task = self.bar.add_task(doing, total=total)
        self.done, self.began = done, time.perf_counter()
        self.n_done = self.n_failed = 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()
        if self.n_done > 1:
            failed = f", {self.n_failed:,} failed" if self.n_failed else ""
            texts = counted(self.n_done - self.n_failed, "text")
            tell(f"{texts} {self.done}{failed}, {duration(time.perf_counter() - self.began)}")

    def step(self, *, failed: bool) -> None:
        """Count one text."""
        self.n_done += 1
        self.n_failed += failed
        self.bar.advance(self.task)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar while the block runs."""
        self.bar.stop()
        try:
            yield
        finally:
            self.bar.start()
