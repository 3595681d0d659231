"""Write a file of results atomically: the complete file, or nothing."""

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import BinaryIO, Self, cast

from mase.attribution import Attribution
from mase.errors import OptionError
from mase.files import write_stream, writing
from mase.io.json import Failure, save_many
from mase.outputs import OUTPUTS, form_of
from mase.outputs.protocol import Output

__all__ = ["OutputFile", "save"]

_IN_MEMORY = 16 << 20


class OutputFile(AbstractContextManager["OutputFile"]):
    """A context manager for a file of results, which is written when the block ends without an error.

    If the block fails, an existing file stays as it was. Without a result nothing is written.

    Parameters
    ----------
    path
        Path of the file.
    form
        A name in `OUTPUTS`; by default the suffix of the path.

    Attributes
    ----------
    is_complete
        Whether all results were added completely. If adding one failed, nothing is written.

    Raises
    ------
    OptionError
        If no output has the suffix.
    UnknownNameError
        If there is no such output.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mase.io.json import Failure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with OutputFile(f"{folder}/reviews.csv") as file:
    ...         file.add(1, Failure(1, "EmptyTextError", "no word"))
    ...     len(Path(f"{folder}/reviews.csv").read_text().splitlines())
    2
    """

    def __init__(self, path: str | os.PathLike[str], form: str | None = None) -> None:
        self.path = path
        self._make: Callable[[BinaryIO], Output] = OUTPUTS[form_of(path) if form is None else form]
        self.is_complete = True
        self._n_results = 0

    def __enter__(self) -> Self:
        # A temporary file without a name: a run that is killed leaves no file behind.
        self._draft = cast(BinaryIO, SpooledTemporaryFile(max_size=_IN_MEMORY))
        self._output = self._make(self._draft)
        return self

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Add the next result; `number` is the number of its text in the input, from 1.

        Raises
        ------
        DataError
            If the disk is full, or if the output cannot represent the result.
        """
        self.is_complete = False
        with writing(self.path):
            self._output.add(number, result)
        self.is_complete = True
        self._n_results += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with closing(self._draft):
            if kind is None and self._n_results and self.is_complete:
                self._output.close()
                self._draft.seek(0)
                write_stream(self.path, self._draft)


def save(attributions: Iterable[Attribution], path: str | os.PathLike[str]) -> None:
    """Write attributions in the format of the suffix of `path`; JSON Lines if it has none."""
    name = os.fsdecode(path)
    form = form_of(name)
    if form in ("html", "htm"):  # the name is older than `to_html`, and wrote JSON
        raise OptionError(f"path is {name!r}, expected another ending; to_html(path) writes a page")
    if form in ("json", "jsonl", "ndjson"):
        save_many(attributions, path)
        return
    with OutputFile(name, form) as file:
        for number, attribution in enumerate(attributions, 1):
            file.add(number, attribution)
