"""Attributions that were made earlier, or by another tool: those of a call, and files of them."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from typing import Any

from mase.attribution import Attribution
from mase.document import Document, Input
from mase.errors import DataError, OptionError, ShapeError
from mase.files import read_bytes
from mase.io.json import ERROR_SCHEMA, SCHEMA, from_dict

__all__ = ["GivenAttributions", "per_text", "read_attributions"]


@dataclass(frozen=True, slots=True)
class GivenAttributions:
    """The attributions in a file.

    Attributes
    ----------
    path
        The file.
    by_text
        Attributions by the key of their document (`Document.key`, which is the text itself for a plain text), if the
        file says which document each explains.
    in_order
        Otherwise, one attribution per row of a table.
    """

    path: str
    by_text: Mapping[str, Attribution]
    in_order: Sequence[Any]

    def check_rows(self, rows: Sequence[int], *, all_rows: bool) -> None:
        """Check that attributions in order are as many as the rows of their table.

        Parameters
        ----------
        rows
            Numbers of the rows to evaluate, from 1.
        all_rows
            Whether these are all rows of the table. Otherwise the file must have an attribution for the other rows too.

        Raises
        ------
        DataError
            If the file has too few or too many attributions.
        """
        n, last = len(self.in_order), max(rows)
        if not self.by_text and (n < last or (all_rows and n != last)):
            expected = (
                f"{last}: one for each row of the table" if all_rows else f"at least {last}: one for each row, in order"
            )
            raise DataError(
                f"{self.path!r} has {n} attributions, expected {expected}, including the rows that are not evaluated"
            )

    def of(self, text: Input, row: int) -> Any:
        """Return the attribution of a text, which is row `row` of its table, counted from 1.

        Raises
        ------
        DataError
            If there is none.
        """
        if self.by_text:
            key = Document.of(text).key
            if key not in self.by_text:
                raise DataError(
                    f"{self.path!r} has no attribution of the text {key[:40]!r}, expected one; explain the text first"
                )
            return self.by_text[key]
        if not 1 <= row <= len(self.in_order):
            raise DataError(f"{self.path!r} has {len(self.in_order)} attributions, expected one for row {row} too")
        return self.in_order[row - 1]


def per_text(attributions: Mapping[str, Iterable[Any]], n_texts: int) -> list[dict[str, Any]]:
    """Return for each of `n_texts` texts its attributions by name, from the attributions of all texts by name.

    Raises
    ------
    OptionError
        If there are no names, or one does not have several attributions in order.
    ShapeError
        If the number of attributions is not the number of texts.
    """
    if not isinstance(attributions, Mapping):
        raise OptionError(
            f"attributions is of type {type(attributions).__name__}, expected a mapping from a name to a list with one "
            "attribution per text, as in {'mine': [...]}"
        )
    lists = {name: _listed(name, entries) for name, entries in attributions.items()}
    for name, entries in lists.items():
        if len(entries) != n_texts:
            raise ShapeError(f"{name!r} has {len(entries)} attributions for {n_texts} texts, expected one per text")
    return [{name: entries[number] for name, entries in lists.items()} for number in range(n_texts)]


def _listed(name: str, entries: Any) -> list[Any]:
    """Return attributions as a list. A `shap.Explanation` of several texts has a length and no iterator."""
    if isinstance(entries, str | bytes | Mapping | Set) or not isinstance(entries, Iterable | Sized):
        raise OptionError(
            f"the attributions of {name!r} are of type {type(entries).__name__}, expected a list with one per text"
        )
    indexed: Any = entries
    return list(entries) if isinstance(entries, Iterable) else [indexed[number] for number in range(len(indexed))]


def read_attributions(path: str | os.PathLike[str]) -> GivenAttributions:
    """Return the attributions in a file.

    Parameters
    ----------
    path
        Either what `mase explain -o` writes: one attribution per line, where failures are skipped. Or JSON with one
        entry per text, one per line or all in one list. An entry is a list of ``[word, score]`` pairs, an object from
        word to score, a list of numbers per token (a tensor's ``tolist()``), or an object with the ``values`` and
        ``data`` of a `shap.Explanation`.

    Raises
    ------
    DataError
        If the file cannot be read or holds something else.
    """
    name = os.fspath(path)
    entries = _entries(name)
    from_mase = [_has_schema(entry) for entry in entries]
    if any(from_mase) and not all(from_mase):
        raise DataError(f"{name!r} mixes attributions of schema {SCHEMA} with others, expected one kind")
    if all(from_mase):
        attributions = [
            from_dict(entry, place=f"{name!r}, entry {number}")
            for number, entry in enumerate(entries, 1)
            if entry["schema"] != ERROR_SCHEMA
        ]
        if not attributions:
            raise DataError(f"{name!r} holds failures only, expected attributions")
        by_text = {Document(attribution.document).key: attribution for attribution in attributions}
        return GivenAttributions(name, by_text, ())
    for number, entry in enumerate(entries, 1):
        if not isinstance(entry, list | dict):
            raise DataError(
                f"{name!r}, entry {number} is a {type(entry).__name__}, expected a list of [word, score] pairs or of "
                f"numbers, an object from word to score, values and data of shap, or schema {SCHEMA}"
            )
    return GivenAttributions(name, {}, tuple(entries))


def _has_schema(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("schema"), str)


def _entries(name: str) -> list[Any]:
    """Return the entries of a file: one per line, or those of the one list in the file."""
    try:
        content = read_bytes(name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{name!r} is not UTF-8 at byte {error.start}, expected JSON") from error
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if document is None:
        entries = _lines(name, content)
    else:
        entries = list(document) if isinstance(document, list) and not _is_entry(document[:1]) else [document]
    if not entries:
        raise DataError(f"{name!r} is empty, expected attributions")
    return entries


def _lines(name: str, content: str) -> list[Any]:
    entries = []
    for number, line in enumerate(content.split("\n"), 1):
        if not line.strip():
            continue
        try:
            entries.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{name!r}, line {number} is not JSON ({error}), expected one attribution per line"
            ) from error
    return entries


def _is_entry(first: list[Any]) -> bool:
    """Return whether a list that begins with `first` is one entry: it begins with a [word, score] pair or a number."""
    match first:
        case [int() | float()] | [[str(), _]]:
            return True
    return False
