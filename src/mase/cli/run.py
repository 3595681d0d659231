"""The run of `mase explain`: one text after the other, each result to every sink, failures counted."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from io import TextIOWrapper

import click
from rich.console import Console

from mase.attribution import Attribution
from mase.cli.group import complain
from mase.cli.lines import Line, Texts
from mase.cli.progress import Progress
from mase.cli.sinks import HeatMaps, HtmlPage, JsonFile, JsonLines, Sink
from mase.errors import CapabilityError, MaseError, MissingDependencyError, OptionError, TooFewSamplesError, UnknownNameError
from mase.io.json import Failure

__all__ = ["OF_THE_COMMAND", "Outputs", "open_console", "run"]

# If the first text fails so, all of them would.
OF_THE_COMMAND = (CapabilityError, MissingDependencyError, OptionError, UnknownNameError)

Explain = Callable[[str], Attribution]


@dataclass(frozen=True, slots=True)
class Outputs:
    """What to write: JSON to standard output, JSON to a file, a page, heat maps."""

    json: bool
    file: str | None
    html: str | None
    heat_maps: bool

    def open(self, stack: ExitStack, progress: Progress, *, numbered: bool) -> list[Sink]:
        """Return the open sinks, which close with `stack`: what can be lost first comes first."""
        sinks: list[Sink] = [] if self.file is None else [stack.enter_context(JsonFile(self.file))]
        sinks += [] if self.html is None else [stack.enter_context(HtmlPage(self.html))]
        if sys.stdout is None:
            return sinks
        if self.json:
            return [*sinks, JsonLines(sys.stdout.buffer)]
        return [*sinks, HeatMaps(open_console(), progress, numbered=numbered)] if self.heat_maps else sinks


def run(texts: Texts, explain: Explain, outputs: Outputs) -> None:
    """Explain every text and hand each result to every sink; exit with 1 if one failed.

    Raises
    ------
    MaseError
        If the first text fails for a reason that has nothing to do with the text.
    """
    with ExitStack() as stack:
        progress = Progress(texts.total)
        sinks = outputs.open(stack, progress, numbered=texts.total != 1)
        stack.enter_context(progress)
        for line in texts.lines:
            result = _attempt(line, explain, first=progress.n_done == progress.n_failed)
            if isinstance(result, Failure):
                with progress.paused():
                    complain(result.message if texts.total == 1 else f"{texts.kind} {line.number}: {result.message}")
            for sink in sinks:
                sink.add(result)
            progress.step(failed=isinstance(result, Failure))
    if progress.n_failed:
        click.get_current_context().exit(1)


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
