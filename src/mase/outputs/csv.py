"""CSV output: a table with one row per response and word, for spreadsheets and data frames."""

import csv
import io
from typing import Any, BinaryIO

from mase.attribution import Attribution
from mase.attribution.rows import rows
from mase.io.json import Failure

__all__ = ["COLUMNS", "CsvTable", "cell", "rows_of"]

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
