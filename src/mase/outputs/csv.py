"""A table with one row per word, for spreadsheets and data frames."""

import csv
import io
from collections.abc import Iterator
from math import isnan
from typing import Any, BinaryIO

from mase.attribution import Attribution
from mase.io.json import Failure

__all__ = ["COLUMNS", "CsvTable"]

# Columns are added behind these, never renamed.
COLUMNS = (
    "number", "response", "position", "start", "end", "text", "score", "standard_error",
    "link", "value", "method", "model", "seed", "error",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvTable:
    """Writes one row per word at once, in UTF-8; a text that could not be explained has one row with its error.

    `number` is that of the text, from 1 on; `position` that of the word, from 0 on, `start` and `end` its span; `response`
    the explained class, `value` the explained number for the text itself. Text that a spreadsheet would take for a
    formula begins with an apostrophe.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._write([COLUMNS])

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write the rows of a result."""
        rows = [_failed(result)] if isinstance(result, Failure) else _words(result)
        self._write([[_cell(({"number": number} | row).get(column)) for column in COLUMNS] for row in rows])

    def close(self) -> None:
        """Write nothing."""

    def _write(self, rows: Any) -> None:
        """Write whole rows, so that an interruption leaves no part of one."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self.stream.write(text.getvalue().encode("utf-8", "backslashreplace"))


def _words(found: Attribution) -> Iterator[dict[str, Any]]:
    every = {
        "response": found.target,
        "link": found.link,
        "value": found.response,
        "method": found.method["name"],
        "model": found.model["name"],
        "seed": found.seed,
    }
    numbers = zip(found.words, found.spans, found.scores.tolist(), found.standard_errors.tolist(), strict=True)
    for position, (word, (start, end), score, error) in enumerate(numbers):
        own = {"position": position, "start": start, "end": end, "text": word, "score": score}
        yield every | own | {"standard_error": None if isnan(error) else error}


def _failed(failure: Failure) -> dict[str, Any]:
    return {"error": f"{failure.error}: {failure.message}"}


def _cell(value: Any) -> Any:
    """Return a value as it is written; text that would be a formula is told apart by an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
