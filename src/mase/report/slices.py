"""The list of texts as scripts that a page loads from its own folder: slices of texts, and an index of all of them.

A page that was opened as a file may not fetch data, but it may load scripts. Each file is one call whose argument is
JSON, and the page inserts what it gets as text only.
"""

import re
import sys
from array import array
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from mase.render.numbers import percent, share
from mase.render.pieces import isolated
from mase.report.entries import Entry
from mase.report.shading import Shading

__all__ = ["FILE", "FOLDER", "ListWriter", "script"]

FOLDER = "list"
_INDEX = "index.js"
# The files of the list. A search loads the texts of all slices; the words of a slice are loaded when a text is opened.
FILE = re.compile(r"(index|(texts|words)-[0-9]{5,9})\.js")
# A slice ends with the first of these; one page of a sorted list loads up to 25 slices.
TEXTS_PER_SLICE, BYTES_PER_SLICE = 256, 500_000
# The classes by which the list can be filtered, in the order in which they appear; the others are one class to it.
MOST_CLASSES = 1_000
_NONE_16, _NONE_8 = 0xFFFF, 0xFF
# "<" so that a text cannot end a script element, and the two line ends that are none in JSON.
_ESCAPED = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))


def script(function: str, *values: Any) -> bytes:
    """Return a script that calls a function of the page with values as JSON.

    Examples
    --------
    >>> script("mase.slice", 0, ["</script>"])
    b'mase.slice(0,["\\\\u003c/script>"])\\n'
    """
    arguments = msgspec.json.encode(values)[1:-1]
    for character, escaped in _ESCAPED:
        arguments = arguments.replace(character, escaped)
    return function.encode() + b"(" + arguments + b")\n"


class ListWriter:
    """Write the list, text by text; the memory is that of a slice, and six bytes per text.

    Parameters
    ----------
    folder
        The folder of the list, which exists.
    kept
        Names of the kept columns.
    """

    def __init__(self, folder: Path, kept: Sequence[str]) -> None:
        self._folder, self._kept = folder, tuple(kept)
        self._classes: dict[str, int] = {}
        self._class, self._probability = array("H"), array("H")
        self._flags, self._fit = array("B"), array("B")
        self._starts, self._rows = [0], array("q")
        self._texts: list[bytes] = []
        self._words: list[bytes] = []
        self._size = 0

    def add(self, entry: Entry) -> None:
        """Add a text."""
        self._class.append(self._code(entry.prediction))
        self._probability.append(_scaled(entry.probability, _NONE_16))
        self._fit.append(_scaled(entry.r2, _NONE_8))
        self._flags.append(entry.flags)
        if not self._texts:
            self._rows.append(entry.row)
        self._texts.append(msgspec.json.encode(_text(entry)))
        self._words.append(msgspec.json.encode(_words(entry.shading)))
        self._size += len(self._texts[-1]) + len(self._words[-1])
        if len(self._texts) == TEXTS_PER_SLICE or self._size >= BYTES_PER_SLICE:
            self._flush()

    def close(self) -> None:
        """Write the last slice and the index."""
        if self._texts:
            self._flush()
        index = {
            "starts": self._starts,
            "rows": self._rows.tolist(),
            "classes": [isolated(name) for name in self._classes],
            "kept": self._kept,
            "class": _base64(self._class),
            "probability": _base64(self._probability),
            "fit": _base64(self._fit),
            "flags": _base64(self._flags),
        }
        (self._folder / _INDEX).write_bytes(script("mase.index", index))

    def _code(self, prediction: str | None) -> int:
        if prediction is None or (prediction not in self._classes and len(self._classes) == MOST_CLASSES):
            return _NONE_16
        return self._classes.setdefault(prediction, len(self._classes))

    def _flush(self) -> None:
        number = len(self._starts) - 1
        for kind, values in (("texts", self._texts), ("words", self._words)):
            content = msgspec.Raw(b"[" + b",\n".join(values) + b"]")
            (self._folder / f"{kind}-{number:05}.js").write_bytes(script(f"mase.{kind}", number, content))
        self._starts.append(self._starts[-1] + len(self._texts))
        self._texts, self._words, self._size = [], [], 0


def _text(entry: Entry) -> dict[str, Any]:
    """Return an entry without its words as JSON types. Names from outside are values, and never keys.

    Numbers are as the page shows them. Those of the index, which orders the texts, have few digits.
    """
    return {
        "row": entry.row,
        "id": entry.id,
        "prediction": entry.prediction,
        "label": entry.label,
        "response": entry.response,
        "against": entry.against,
        "link": entry.link,
        "chance": None if entry.probability is None else percent(entry.probability),
        "r2": None if entry.r2 is None else share(entry.r2),
        "halves": None if entry.split_half is None else share(entry.split_half),
        "queries": entry.n_queries,
        "text": entry.text,
        "size": entry.n_characters,
        "given": "" if entry.given == entry.text else entry.given,  # "" for the same, so that it is there once
        "unsigned": entry.unsigned,
        "notes": entry.notes,
        "error": entry.error,
        "message": entry.message,
        "kept": entry.kept,
        "answer": entry.answer,
    }


def _words(found: Shading) -> dict[str, Any]:
    return {"words": found.packed(), "unit": found.unit, "decimals": found.decimals, "signs": found.signs}


def _scaled(share: float | None, none: int) -> int:
    """Return a share of 0 to 1 as an integer below `none`, which stands for no number."""
    return none if share is None else round(min(1.0, max(0.0, share)) * (none - 1))


def _base64(values: "array[int]") -> str:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return b64encode(values.tobytes()).decode()
