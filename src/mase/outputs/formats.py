"""The formats of results: JSON Lines, CSV, Parquet, HTML pages and text for a terminal."""

import codecs
import csv
import io
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import IO, Any, BinaryIO, Protocol, Self, cast

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from mase.attribution.attribution import Attribution, rows
from mase.attribution.json import Failure, dumps, save_many
from mase.document import valid_text
from mase.errors import OptionError
from mase.files import write_stream, writing
from mase.outputs import OUTPUTS, form_of
from mase.render.html import page
from mase.render.terminal import heat_map
from mase.sources.files import require_pyarrow

# Later releases may append columns, but never rename or reorder these.
COLUMNS = (
    "number", "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank",
    "link", "value", "r2", "method", "model", "seed", "error", "against", "cited",
    "r2_held_out", "answer", "total_error", "strength",
)  # fmt: skip

# Spreadsheets take a cell that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvTable:
    """Writes one row per response and word, in UTF-8; a text that could not be explained has one row with its error.

    `number` counts the texts from 1 and `position` the words of a text from 0. `start` and `end` are the span of the
    word in the text of `field`, `rank` is its rank from 1, and `strength` that by absolute score. `response` is the
    explained class, `against` the class that it is compared with, and `value` the explained number for the unmasked
    text. `answer` is that of a language model, and `cited` says whether the word is a source of the part of it that the
    response explains. Text that a spreadsheet would take for a formula is prefixed with an apostrophe. The heading is
    written before any result, so effects beside the score have no column; JSON has them.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._write([COLUMNS])

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write the rows of a result."""
        self._write([[cell(({"number": number} | row).get(column)) for column in COLUMNS] for row in rows_of(result)])

    def close(self) -> None:
        """Write nothing."""

    def _write(self, rows: Any) -> None:
        """Write the rows with a single call, so that an interruption leaves no partial row."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self.stream.write(text.getvalue().encode("utf-8", "backslashreplace"))


def rows_of(result: Attribution | Failure) -> list[dict[str, Any]]:
    """Return the rows of a result by column name; of a failure one."""
    if isinstance(result, Failure):
        return [_failed(result)]
    named = {"method": result.method["name"], "model": result.model["name"], "seed": result.seed}
    named["answer"] = None if result.answer is None else result.answer.text
    explained = {
        response.name: {name: getattr(response, name) for name in ("link", "value", "r2", "r2_held_out")}
        for response in result.responses
    }
    return [row | named | explained[row["response"]] for row in rows(result)]


def _failed(failure: Failure) -> dict[str, Any]:
    return {"error": f"{failure.error}: {failure.message}"}


def cell(value: Any) -> Any:
    """Return the value of a cell; text that would be a formula is prefixed with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class HtmlPage:
    """Collects attributions and writes the page at the end, with the texts that failed."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.shown: dict[int, Attribution] = {}
        self.failures: dict[int, str] = {}

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Keep an attribution for the page, with its number."""
        if isinstance(result, Failure):
            self.failures[number] = f"{result.error}: {result.message}"
        else:
            self.shown[number] = result

    def close(self) -> None:
        """Write the page."""
        content = page(self.shown.values(), numbers=tuple(self.shown), failures=self.failures)
        self.stream.write(content.encode())


class JsonLines:
    """Writes each result at once as a line, so that a later failure cannot lose it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write a line and flush it to the operating system."""
        self.stream.write(line(result))
        self.stream.flush()

    def close(self) -> None:
        """Write nothing."""


def line(result: Attribution | Failure) -> bytes:
    """Return a result as one line, with its line end."""
    return dumps(result).encode() + b"\n"


class ParquetTable:
    """Collects the rows of `CsvTable`, with texts as they are, and writes them at the end."""

    def __init__(self, stream: BinaryIO) -> None:
        self.pyarrow, self.parquet = require_pyarrow()
        self.stream = stream
        self.rows: list[dict[str, Any]] = []

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Keep the rows of a result."""
        self.rows += [{"number": number} | row for row in rows_of(result)]

    def close(self) -> None:
        """Write the table."""
        columns = {name: _encodable([row.get(name) for row in self.rows]) for name in COLUMNS}
        self.parquet.write_table(self.pyarrow.table(columns), self.stream)


def _encodable(cells: Sequence[object]) -> list[object]:
    """Return the cells of a column as Parquet can hold them: integers of over 64 bits, as of a seed, make it text."""
    if any(isinstance(cell, int) and not -(2**63) <= cell < 2**63 for cell in cells):
        cells = [cell if cell is None else str(cell) for cell in cells]
    return [valid_text(cell) if isinstance(cell, str) else cell for cell in cells]


class Output(Protocol):
    """Writes results to a binary stream: `OUTPUTS["csv"](stream)`.

    It neither opens nor closes the stream. `mase.outputs.OutputFile` does, and makes the writing of a file atomic.
    """

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write the next result; `number` is the number of its text in the input, from 1."""
        ...

    def close(self) -> None:
        """Write what follows the last result. No result may be added afterwards."""
        ...


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
    >>> from mase.attribution.json import Failure
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
                with writing(self.path):
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
