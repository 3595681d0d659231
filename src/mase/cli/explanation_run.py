"""The run of `mase explain`: explain each text, pass the result to every output, count failures."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import click
from rich.console import Console

from mase.attribution import Attribution
from mase.cli.group import complain, tell
from mase.cli.inputs import Texts
from mase.cli.output_files import Claim
from mase.cli.outputs import JsonFile, Screen, WholeFile
from mase.cli.resume import Expected
from mase.datasets.texts import Line
from mase.document import Document
from mase.errors import OF_THE_COMMAND, DataError, MaseError, TooFewSamplesError
from mase.io.json import Failure
from mase.outputs.json_lines import JsonLines
from mase.render.numbers import counted
from mase.render.progress import Progress

__all__ = ["Destinations", "open_console", "run"]

Explain = Callable[[str | Document], Attribution]


@dataclass(frozen=True, slots=True)
class Destinations:
    """The places that a run writes its results to.

    Attributes
    ----------
    json
        Whether JSON goes to standard output.
    record
        The file of JSON lines, from which a later run can resume, or None.
    files
        Other files, with their formats.
    heat_maps
        Whether heat maps go to standard output, if JSON does not.
    details
        Whether they say all that is known.
    """

    json: bool
    record: Claim | None
    files: Sequence[tuple[Claim, str]]
    heat_maps: bool
    details: bool = False

    def stream(self, progress: Progress, *, numbered: bool) -> list[JsonLines | Screen]:
        """Return the output for standard output, if there is one."""
        if sys.stdout is None:
            return []
        if self.json:
            return [JsonLines(sys.stdout.buffer)]
        screen = Screen(open_console(), progress, numbered=numbered, details=self.details)
        return [screen] if self.heat_maps else []


def run(texts: Texts, explain: Explain, destinations: Destinations, expected: Expected | None = None) -> None:
    """Explain every text that has no result, pass the results to every output, and exit with 1 if any text ever failed.

    Without `expected`, there is no file to resume from.
    """
    record = None if destinations.record is None else JsonFile(destinations.record)
    files = [WholeFile(claim, form) for claim, form in destinations.files]
    files_and_record = files if record is None else [record, *files]  # write the record first: it must not be lost
    with ExitStack() as stack:
        for file in reversed(files_and_record):  # so that the record is closed before the other files are made
            stack.enter_context(file)
        before = _Earlier() if record is None or expected is None else _skip(record, texts, expected, files)
        progress = stack.enter_context(Progress(None if texts.total is None else texts.total - before.n))
        outputs = [*files_and_record, *destinations.stream(progress, numbered=texts.total != 1)]
        try:
            for line in texts.lines:
                result = _attempt(line, explain, first=progress.n_done == progress.n_failed)
                if isinstance(result, Failure):
                    with progress.paused():
                        _complain(texts, line, result)
                for output in outputs:
                    output.add(line.number, result)
                progress.step(failed=isinstance(result, Failure))
        except DataError:  # of the input, or of an output that cannot be written
            if progress.n_done and progress.total is not None:
                tell(f"{counted(progress.total - progress.n_done, 'text')} left without a result")
            raise
    if before.n and not progress.n_done:
        tell("the only text already has a result" if before.n == 1 else f"all {before.n:,} texts already have a result")
    if progress.n_failed or before.n_failed:
        click.get_current_context().exit(1)


def _complain(texts: Texts, line: Line, failure: Failure) -> None:
    complain(failure.message if texts.total == 1 else f"{texts.kind} {line.number}: {failure.message}")


@dataclass(slots=True)
class _Earlier:
    """The number of texts that had a result before the run, and of the failures among these."""

    n: int = 0
    n_failed: int = 0


def _skip(record: JsonFile, texts: Texts, expected: Expected, files: Sequence[WholeFile]) -> _Earlier:
    """Skip the texts whose results are in the record, and add these results to the other files."""
    before = _Earlier()
    if not record.claim.has_results:
        return before
    for result in record.earlier():
        line = next(texts.lines, None)
        place = f"{os.fspath(record.claim.place)!r}, line {before.n + 1}"
        if line is None:
            raise DataError(
                f"{place} is the result of another text, but there are only {before.n}; give all texts of that run"
            )
        expected.check(result, line, place)
        for file in files:
            file.add_earlier(line.number, result)
        before.n += 1
        before.n_failed += isinstance(result, Failure)
    if before.n:
        expected.warn(record.claim.place)
        tell(f"resuming after the {counted(before.n, 'result')} in {click.format_filename(record.claim.place)}")
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
    """Return the console for standard output."""
    return _Console(file=sys.stdout, highlight=False)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise the error, which the command group handles."""
        raise BrokenPipeError
