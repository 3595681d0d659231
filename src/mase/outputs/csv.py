"""A table with one row per response and word, for spreadsheets and data frames."""

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from mase.attribution import Attribution, Response
from mase.io.json import Failure

__all__ = ["COLUMNS", "CsvTable"]

# Columns are added behind these, never renamed.
COLUMNS = (
    "number", "response", "position", "field", "start", "end", "text", "score", "standard_error", "rank",
    "link", "value", "r2", "method", "model", "seed", "error",
)  # fmt: skip
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvTable:
    """Writes one row per response and word at once, in UTF-8; a text that could not be explained has one row with its error.

    `number` is that of the text, from 1 on; `position` that of the word, from 0 on, `start` and `end` its span in the
    text of `field`, `rank` its place in the order, from 1 on; `response` the explained class, `value` the explained
    number for the text itself. Text that a spreadsheet would take for a formula begins with an apostrophe.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self._write([COLUMNS])

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write the rows of a result."""
        self._write([[_cell(({"number": number} | row).get(column)) for column in COLUMNS] for row in _rows(result)])

    def close(self) -> None:
        """Write nothing."""

    def _write(self, rows: Any) -> None:
        """Write whole rows, so that an interruption leaves no part of one."""
        text = io.StringIO(newline="")
        csv.writer(text).writerows(rows)
        self.stream.write(text.getvalue().encode("utf-8", "backslashreplace"))


def _rows(result: Attribution | Failure) -> list[dict[str, Any]]:
    if isinstance(result, Failure):
        return [_failed(result)]
    return [row for response in result.responses for row in _units(result, response)]


def _units(found: Attribution, response: Response) -> Iterator[dict[str, Any]]:
    every = {
        "response": response.name,
        "link": response.link,
        "value": response.value,
        "r2": response.r2,
        "method": found.method["name"],
        "model": found.model["name"],
        "seed": found.seed,
    }
    ranks = {position: rank for rank, position in enumerate(response.order, 1)}
    for position, unit in enumerate(found.units):
        yield every | {
            "position": position,
            "field": unit.field,
            "start": unit.start,
            "end": unit.end,
            "text": unit.text,
            "score": response.scores[position],
            "standard_error": response.standard_errors[position],
            "rank": ranks[position],
        }


def _failed(failure: Failure) -> dict[str, Any]:
    return {"error": f"{failure.error}: {failure.message}"}


def _cell(value: Any) -> Any:
    """Return a value as it is written; text that would be a formula is told apart by an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
