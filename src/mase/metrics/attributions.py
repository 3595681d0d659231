"""Files of attributions that were made elsewhere, or earlier."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mase.attribution import Attribution
from mase.errors import DataError
from mase.files import read_bytes
from mase.io.json import ERROR_SCHEMA, SCHEMA, from_dict

__all__ = ["Attributions", "read_attributions"]


@dataclass(frozen=True, slots=True)
class Attributions:
    """The attributions in a file: by text where they carry theirs, else in the order of the rows of a table."""

    path: str
    by_text: Mapping[str, Attribution]
    in_order: Sequence[Any]

    def check_rows(self, rows: Sequence[int], *, all_rows: bool) -> None:
        """Make sure that attributions in order belong to the rows of a table, of which these are to be judged.

        Parameters
        ----------
        rows
            Numbers of the rows, from 1 on.
        all_rows
            Whether these are all rows of the table; others keep their place in the order.

        Raises
        ------
        DataError
            If there are not as many.
        """
        n, last = len(self.in_order), max(rows)
        if not self.by_text and (n < last or (all_rows and n != last)):
            expected = (
                f"{last}: one for each row of the table" if all_rows else f"at least {last}: one for each row, in order"
            )
            raise DataError(f"{self.path!r} has {n} attributions, expected {expected}, those that are not judged too")

    def of(self, text: str, row: int) -> Any:
        """Return the attribution of a text, which is row `row` (from 1 on) of its table.

        Raises
        ------
        DataError
            If there is none.
        """
        if self.by_text:
            if text not in self.by_text:
                raise DataError(
                    f"{self.path!r} has no attribution of the text {text[:40]!r}, expected one; explain it first"
                )
            return self.by_text[text]
        if not 1 <= row <= len(self.in_order):
            raise DataError(f"{self.path!r} has {len(self.in_order)} attributions, expected one for row {row} too")
        return self.in_order[row - 1]


def read_attributions(path: str | os.PathLike[str]) -> Attributions:
    """Return the attributions in a file.

    Parameters
    ----------
    path
        What `mase explain -o` writes (one attribution per line; failures are left out), or JSON with one list of
        ``[word, score]`` pairs, one object from word to score, one list of numbers per token (a tensor's ``tolist()``),
        or one object of a `shap.Explanation`'s ``values`` and ``data``, per text: one per line, or all in one list.

    Raises
    ------
    DataError
        If it cannot be read or holds something else.
    """
    name = os.fspath(path)
    entries = _entries(name)
    ours = [_is_ours(entry) for entry in entries]
    if any(ours) and not all(ours):
        raise DataError(f"{name!r} mixes attributions of schema {SCHEMA} with others, expected one kind")
    if all(ours):
        kept = [
            from_dict(entry, place=f"{name!r}, entry {number}")
            for number, entry in enumerate(entries, 1)
            if entry["schema"] != ERROR_SCHEMA
        ]
        if not kept:
            raise DataError(f"{name!r} holds failures only, expected attributions")
        return Attributions(name, {one.text: one for one in kept}, ())
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, list | dict):
            raise DataError(
                f"{name!r}, entry {number} is a {type(entry).__name__}, expected a list of [word, score] pairs or of numbers, "
                f"an object from word to score, values and data of shap, or schema {SCHEMA}"
            )
    return Attributions(name, {}, tuple(entries))


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("schema"), str)


def _entries(name: str) -> list[Any]:
    """Return the entries of a file: one per line, or those of the one list that the file is."""
    try:
        content = read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name!r} is not UTF-8 at byte {error.start}, expected JSON") from error
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        whole = None
    if whole is not None:
        found = list(whole) if isinstance(whole, list) and not _is_one(whole[:1]) else [whole]
    else:
        found = _lines(name, content)
    if not found:
        raise DataError(f"{name!r} is empty, expected attributions")
    return found


def _lines(name: str, content: str) -> list[Any]:
    found = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{name!r}, line {number} is not JSON ({error}), expected one attribution per line"
            ) from error
    return found


def _is_one(first: list[Any]) -> bool:
    """Return whether a list begins with a [word, score] pair or a number, and so is the attribution of one text."""
    match first:
        case [int() | float()] | [[str(), _]]:
            return True
    return False
