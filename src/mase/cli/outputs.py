"""Outputs of a run: a file of JSON lines that a later run can extend, whole files, and the screen."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from io import FileIO
from types import TracebackType
from typing import Self

import click
from rich.console import Console

from mase.attribution import Attribution
from mase.cli.group import tell
from mase.cli.output_files import Claim
from mase.cli.resume import Earlier
from mase.cli.spelling import spelled
from mase.errors import DataError
from mase.files import writing
from mase.io.json import Failure
from mase.outputs import OutputFile
from mase.outputs.json_lines import line
from mase.outputs.terminal import HeatMaps
from mase.platforms import interrupted_later
from mase.render.progress import Progress

__all__ = ["JsonFile", "Screen", "WholeFile"]


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
            tell(f"{path}: the last line is incomplete; it is removed and its text explained again")

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

    def __init__(self, console: Console, progress: Progress, *, numbered: bool, details: bool) -> None:
        self.maps, self.progress = HeatMaps(console, numbered=numbered, details=details), progress

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Print an attribution, with the options of the command in its notes."""
        if isinstance(result, Attribution):
            result = replace(result, notes=tuple(replace(note, message=spelled(note.message)) for note in result.notes))
        with self.progress.paused():
            self.maps.add(number, result)
