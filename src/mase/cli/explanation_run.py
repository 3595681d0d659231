"""The run of `mase explain`: one text after the other, each result to every sink, failures counted."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper

import click
from rich.console import Console

from mase.attribution import Attribution
from mase.cli.group import complain, tell
from mase.cli.inputs import Line, Texts
from mase.cli.output_files import Claim
from mase.cli.outputs import HeatMaps, HtmlPage, JsonFile, JsonLines, Sink
from mase.cli.progress import Progress
from mase.cli.resume import Expected
from mase.errors import (
    CapabilityError,
    DataError,
    MaseError,
    MissingDependencyError,
    OptionError,
    TooFewSamplesError,
    UnknownNameError,
)
from mase.io.json import Failure
from mase.render.facts import counted

__all__ = ["OF_THE_COMMAND", "Outputs", "open_console", "run"]

# If the first text fails so, all of them would.
OF_THE_COMMAND = (CapabilityError, MissingDependencyError, OptionError, UnknownNameError)

Explain = Callable[[str], Attribution]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What to write: JSON to standard output, JSON to a file, a page, heat maps."""

    json: bool
    file: Claim | None
    html: Claim | None
    heat_maps: bool

    def streams(self, progress: Progress, *, numbered: bool, n_before: int) -> list[Sink]:
        """Return what goes to standard output, of a run that goes on after `n_before` texts."""
        if sys.stdout is None:
            return []
        if self.json:
            return [JsonLines(sys.stdout.buffer)]
        return [HeatMaps(open_console(), progress, numbered=numbered, n_before=n_before)] if self.heat_maps else []


def run(texts: Texts, explain: Explain, outputs: Outputs, expected: Expected) -> None:
    """Explain every text without a result, hand each result to every sink, and exit with 1 if a text failed, then or now.

    Raises
    ------
    MaseError
        If the first text fails for a reason that has nothing to do with the text.
    DataError
        If the file that the run is to go on with holds other results than this command would have made.
    """
    file = None if outputs.file is None else JsonFile(outputs.file)
    page = None if outputs.html is None else HtmlPage(outputs.html)
    before = _Before() if file is None else _pass_over(file, texts, expected, page)
    progress = Progress(None if texts.total is None else texts.total - before.n)
    lasting = [sink for sink in (file, page) if sink is not None]  # what can be lost first comes first
    sinks: list[Sink] = [*lasting, *outputs.streams(progress, numbered=texts.total != 1, n_before=before.n)]
    with ExitStack() as stack:
        for sink in reversed(lasting):  # so that the lines are safe before the page is made
            stack.enter_context(sink)
        stack.enter_context(progress)
        for line in texts.lines:
            result = _attempt(line, explain, first=progress.n_done == progress.n_failed)
            if isinstance(result, Failure):
                with progress.paused():
                    complain(result.message if texts.total == 1 else f"{texts.kind} {line.number}: {result.message}")
            for one in sinks:
                one.add(result)
            progress.step(failed=isinstance(result, Failure))
    if before.n and not progress.n_done:
        tell(f"all {counted(before.n, 'text')} had a result already")
    if progress.n_failed or before.n_failed:
        click.get_current_context().exit(1)


@dataclass(slots=True)
class _Before:
    """How many texts had a result before the run, and of how many this is a failure."""

    n: int = 0
    n_failed: int = 0


def _pass_over(file: JsonFile, texts: Texts, expected: Expected, page: HtmlPage | None) -> _Before:
    """Read past the texts whose results are in the file, which the page shows too."""
    before = _Before()
    if not file.claim.has_results:
        return before
    for result in file.earlier():
        line = next(texts.lines, None)
        place = f"{os.fspath(file.claim.place)!r}, line {before.n + 1}"
        if line is None:
            raise DataError(
                f"{place} is the result of another text, but there are only {before.n}; give all texts of that run"
            )
        expected.check(result, line, place)
        if page is not None:
            page.add(result)
        before.n += 1
        before.n_failed += isinstance(result, Failure)
    if before.n:
        tell(f"going on after the {counted(before.n, 'result')} in {click.format_filename(file.claim.place)}")
    return before


def _attempt(line: Line, explain: Explain, *, first: bool) -> Attribution | Failure:
    try:
        if line.error is not None:
            raise line.error
        return explain(line.text)
    except MaseError as error:
        if first and isinstance(error, OF_THE_COMMAND) and not isinstance(error, TooFewSamplesError):
            raise
        return Failure(line.number, type(error).__name__, str(error))


def open_console() -> "_Console":
    """Return the console for standard output, where a character it cannot show becomes an escape."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    return _Console(file=sys.stdout, highlight=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave the reader's going to the one place that deals with it."""
        raise BrokenPipeError
