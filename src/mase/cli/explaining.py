"""What `mase explain` and `mase cite` do with texts, and how a file of results is resumed."""

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from functools import partial
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import click
from rich.console import Console

from mase.attribution.attribution import Attribution
from mase.attribution.json import EARLIER_SCHEMA, SCHEMA, Failure, flat, parse, result, shown
from mase.cli import complain, spelled, tell
from mase.cli.files import Claim
from mase.cli.inputs import Texts
from mase.defaults import AUTO
from mase.document import Document
from mase.errors import OF_THE_COMMAND, DataError, MaseError, MaseWarning, TooFewSamplesError
from mase.files import cannot_read, writing
from mase.models.base import Model
from mase.models.origin import as_recorded, has_checksum, identity_in_run, is_multilabel, unknown_model
from mase.models.scores import show_example
from mase.outputs.formats import HeatMaps, JsonLines, OutputFile, line
from mase.platforms import interrupted_later
from mase.progress import ProgressBar
from mase.render.wording import counted
from mase.sources.files import Line
from mase.target import Question

if TYPE_CHECKING:
    from mase.explainer import Explainer


_BEGINS = b'{"schema": "mase.'  # the beginning of every line that this library writes


class Earlier:
    """The results in a file, one per line.

    Attributes
    ----------
    end
        The end of the last complete line that was read so far, in bytes.
    is_torn
        Whether an incomplete line follows, which a kill or a full disk may leave.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.end = 0
        self.is_torn = False

    def __iter__(self) -> Iterator[Attribution | Failure]:
        """Yield the results in order."""
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    if not file.peek(1) and _is_torn(line):
                        self.is_torn = True
                        return
                    parsed = self._result(line, number)
                    self.end += len(line)
                    yield parsed
        except DataError:
            raise
        except OSError as error:
            raise cannot_read(self.path, error) from error

    def _result(self, line: bytes, number: int) -> Attribution | Failure:
        place = f"{os.fspath(self.path)!r}, line {number}"
        document = parse(line, place=place)
        if isinstance(document, dict) and document.get("schema") == EARLIER_SCHEMA:
            raise DataError(
                f"{place} has the schema {EARLIER_SCHEMA!r} of an earlier release, expected {SCHEMA!r} in all lines; "
                "name another --output, or replace its results with --overwrite instead of --append"
            )
        parsed = result(document, place=place)
        if not line.endswith(b"\n"):
            raise DataError(f"{place} has no line end, expected one after each result; add it")
        return parsed


def _is_torn(last: bytes) -> bool:
    """Return whether the last line of a file is part of a result. Any other text is the user's, and is kept."""
    begun = last.rstrip(b"\0\r\n")
    if begun[: len(_BEGINS)] != _BEGINS[: len(begun)]:
        return False
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        return True
    return not last.endswith(b"\n")


@dataclass(slots=True)
class Expected:
    """The provenance that all results of a command share, and what it asks of each.

    The `identity` of the model says how it reads texts, too.
    """

    model: Model
    identity: Mapping[str, Any]
    method: Mapping[str, Any]
    seed: int
    question: Question
    budget: Callable[[int], int]  # samples by the number of units
    labels: tuple[str, ...] | None = None  # of the model, once it was asked

    @classmethod
    def of(cls, explainer: "Explainer", question: Question) -> "Expected":
        """Return the provenance of an explainer's results."""
        plain = json.loads(
            json.dumps(explainer.settings, default=float)
        )  # tuples become lists, as when they are read back
        budget = partial(explainer.method.budget, stops_early=not explainer.stopping.never)
        return cls(explainer.model, identity_in_run(explainer.model), plain, explainer.seed, question, budget)

    def warn(self, path: Path) -> None:
        """Warn that a model without a checksum may not be the one that made the results in a file."""
        if not has_checksum(self.identity):
            kept = f"the results in {os.fspath(path)!r}"
            remedy = "replace them with --overwrite instead of --append"
            warnings.warn(unknown_model(self.identity, kept, remedy), MaseWarning, stacklevel=2)

    def check(self, result: Attribution | Failure, line: Line, place: str) -> None:
        """Check that a result in a file is the one that this command would make of a line of its input."""
        for what, got, expected in self._compared(result, line):
            if got != expected:
                raise DataError(
                    f"{place} has the {what} {shown(got, expected)}, expected {shown(expected, got)} of this "
                    "command; repeat the command that made the file, or replace its results with --overwrite "
                    "instead of --append"
                )

    def _compared(self, result: Attribution | Failure, line: Line) -> Iterator[tuple[str, Any, Any]]:
        if isinstance(result, Failure):
            yield "failure of text number", result.line, line.number
            return
        yield "text", Document(result.document).key, Document.of(line.text).key
        model = as_recorded(self.identity, result.model)
        recorded = flat(result.model)
        yield from ((f"model's {key}", recorded.get(key), value) for key, value in flat(model).items())
        separate = is_multilabel(self.identity)
        if None not in (separate, result.prediction.multilabel):
            yield "prediction's multilabel", result.prediction.multilabel, separate
        if result.answer is None:  # the names of the parts of an answer depend on the text
            yield "classes", ", ".join(result.prediction.names), ", ".join(self._labels(line))
        got, expected = flat(_settings(result.method)), flat(self.method)
        if expected.get("n_samples") == AUTO and self._automatic(got.get("n_samples"), len(result.units)):
            expected |= {"n_samples": got["n_samples"]}
        yield from ((f"method's {key}", got.get(key), expected.get(key)) for key in expected | got)
        labels = result.prediction.names
        names = [labels[index] for index in self.question.indices(labels, result.prediction.ranked)]
        yield "target", ", ".join(response.name for response in result.responses), ", ".join(names)
        against = self.question.against_index(labels)
        yield "against", result.responses[0].against, None if against is None else labels[against]
        yield "seed", result.seed, self.seed

    def _labels(self, line: Line) -> tuple[str, ...]:
        """Return the classes of the model. A function of records that has no labels is asked about one first."""
        if self.labels is None:
            show_example(self.model, line.text)
            self.labels = self.model.labels
        return self.labels

    def _automatic(self, n_samples: Any, n_units: int) -> bool:
        """Return whether a number of samples is that of a text of so many units, some of which may not count."""
        return n_samples in {self.budget(n) for n in range(n_units + 1)}


def _settings(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that decide the scores; the batch size does not."""
    return {key: value for key, value in method.items() if key != "batch_size"}


class JsonFile(AbstractContextManager["JsonFile"]):
    """A file of JSON lines, complete lines in spite of errors, from which a later run can resume."""

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self._file: FileIO | None = None
        self._end = 0  # of the last whole line
        self._is_file = not claim.output.is_stream

    def earlier(self) -> Iterator[Attribution | Failure]:
        """Yield the existing results, then cut off an incomplete last line."""
        results = Earlier(self.claim.place)
        yield from results
        self._end = results.end
        if results.is_torn:
            self._open()
            path = click.format_filename(self.claim.place)
            tell(f"mase: warning: {path}: the last line is incomplete; it is removed and its text explained again")

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write a line to the operating system. If the write fails, no part of the line is left."""
        data = line(result)
        with writing(self.claim.output.name):
            file, left = self._open(), memoryview(data)
            try:
                while left:
                    left = left[file.write(left) :]
            except BaseException:
                if self._is_file:
                    file.truncate(self._end)
                raise
        self._end += len(data)

    def _open(self) -> FileIO:
        """Return the file, open for writing after the last complete line."""
        if self._file is None:
            with writing(self.claim.output.name):
                self._file = FileIO(self.claim.place, "r+" if self._is_file else "w")
                if self._is_file:
                    self._file.truncate(self._end)
                    self._file.seek(self._end)
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_new = self._file is not None
        if self._file is not None:
            with writing(self.claim.output.name), self._file as file:
                if self._is_file:
                    os.fsync(file.fileno())
        if not self._end:
            return
        if kind is None:
            self.claim.finish()
        if is_new or self.claim.is_draft:
            self.claim.report(complete=kind is None)


class WholeFile(AbstractContextManager["WholeFile"]):
    """A file of all results, which is written when the run ends or is interrupted."""

    def __init__(self, claim: Claim, form: str) -> None:
        self.claim = claim
        self._file = OutputFile(claim.place, form)
        self._n_failed = self._n_explained = 0
        self._has_new = False

    def add_earlier(self, number: int, result: Attribution | Failure) -> None:
        """Take the next result of an earlier run."""
        self._n_failed += isinstance(result, Failure)
        self._n_explained += not isinstance(result, Failure)
        self._file.add(number, result)

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Take the next result, and all of it: a part of one could not be taken back."""
        with interrupted_later():
            self.add_earlier(number, result)
            self._has_new = True

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_wanted = kind is None or (self._has_new and self._file.is_complete)
        if not is_wanted or not self._n_explained:
            self._file.__exit__(kind or InterruptedError, error, trace)
            if is_wanted and self._n_failed:
                tell(f"no text was explained: {click.format_filename(self.claim.output.name)} was not written")
            return
        try:
            self._file.__exit__(None, None, None)
        except DataError as failed:
            if kind is None:
                raise
            tell(str(failed))  # the error that ended the run came first, and is the one to report
            return
        if kind is None:
            self.claim.finish()
        self.claim.report(complete=kind is None)


class Screen:
    """Prints heat maps to a screen with a progress bar; failures go to standard error instead."""

    def __init__(self, console: Console, progress: ProgressBar, *, numbered: bool, details: bool) -> None:
        self.maps, self.progress = HeatMaps(console, numbered=numbered, details=details), progress

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Print an attribution, with the options of the command in its notes."""
        if isinstance(result, Attribution):
            result = replace(result, notes=tuple(replace(note, message=spelled(note.message)) for note in result.notes))
        with self.progress.paused():
            self.maps.add(number, result)


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

    def stream(self, progress: ProgressBar, *, numbered: bool) -> list[JsonLines | Screen]:
        """Return the output for standard output, if there is one."""
        if sys.stdout is None:
            return []
        if self.json:
            return [JsonLines(sys.stdout.buffer)]
        screen = Screen(open_console(), progress, numbered=numbered, details=self.details)
        return [screen] if self.heat_maps else []


def run(
    texts: Texts,
    explain: Explain,
    destinations: Destinations,
    expected: Expected | None = None,
    spent: Callable[[], str] | None = None,
) -> None:
    """Explain every text that has no result, pass the results to every output, and exit with 1 if any text ever failed.

    Without `expected`, there is no file to resume from. The bar also says what was `spent`.
    """
    record = None if destinations.record is None else JsonFile(destinations.record)
    files = [WholeFile(claim, form) for claim, form in destinations.files]
    files_and_record = files if record is None else [record, *files]  # write the record first: it must not be lost
    with ExitStack() as stack:
        for file in reversed(files_and_record):  # so that the record is closed before the other files are made
            stack.enter_context(file)
        before = _Earlier() if record is None or expected is None else _skip(record, texts, expected, files)
        progress = stack.enter_context(
            ProgressBar(None if texts.total is None else texts.total - before.n, spent=spent)
        )
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
    for earlier in record.earlier():
        line = next(texts.lines, None)
        place = f"{os.fspath(record.claim.place)!r}, line {before.n + 1}"
        if line is None:
            raise DataError(
                f"{place} is the result of another text, but there are only {before.n}; give all texts of that run"
            )
        expected.check(earlier, line, place)
        for file in files:
            file.add_earlier(line.number, earlier)
        before.n += 1
        before.n_failed += isinstance(earlier, Failure)
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
