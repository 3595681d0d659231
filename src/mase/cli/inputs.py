"""Texts that come in: from arguments, from the lines of a file or of standard input, or from a column of a table."""

import codecs
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click

from mase.datasets.formats import is_table
from mase.datasets.labelled import iter_labelled
from mase.errors import DataError, EmptyTextError, InvalidTextError, MaseError
from mase.files import cannot_read

__all__ = ["Line", "Texts", "read_texts"]

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# What to do with files that hold no lines of text, by their endings.
_UNPACK = "unpack it first, as with gunzip or unzip"
_AS_CSV = "save it as CSV (UTF-8), or as Parquet"
_AS_LINES = "write it as .jsonl, one JSON object per line"
_AS_TEXT = "save it as plain text (UTF-8), one text per line"
_FOREIGN = (
    dict.fromkeys((".gz", ".bgz", ".bz2", ".xz", ".lzma", ".zst", ".lz4", ".br", ".z", ".tgz"), _UNPACK)
    | dict.fromkeys((".zip", ".7z", ".rar", ".tar"), _UNPACK)
    | dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), _AS_CSV)
    | dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".rds", ".sas7bdat"), _AS_CSV)
    | dict.fromkeys((".db", ".sqlite", ".sqlite3", ".h5", ".hdf5", ".npy", ".npz", ".pkl", ".pickle"), _AS_CSV)
    | dict.fromkeys((".json",), _AS_LINES)
    | dict.fromkeys((".doc", ".docx", ".odt", ".pages", ".rtf", ".pdf", ".epub", ".ppt", ".pptx"), _AS_TEXT)
)
# The same by their first bytes, where the ending does not tell.
_MAGIC = {
    b"\x1f\x8b": _UNPACK,  # gzip
    b"BZh": _UNPACK,
    b"\xfd7zXZ\x00": _UNPACK,
    b"\x28\xb5\x2f\xfd": _UNPACK,  # Zstandard
    b"7z\xbc\xaf\x27\x1c": _UNPACK,
    b"PK\x03\x04": f"{_UNPACK}, or if it is a document, save it as CSV or plain text",  # zip, and Office in it
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "save it as CSV or plain text (UTF-8)",  # Office before 2007
    b"%PDF-": _AS_TEXT,
    b"{\\rtf": _AS_TEXT,
    b"PAR1": "name it .parquet",
    b"SQLite format 3\x00": _AS_CSV,
    b"\x93NUMPY": _AS_CSV,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One text and its number in the input, from 1 on; `error` if it could not be read."""

    number: int
    text: str
    error: MaseError | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a command: `total` is None where they come from a stream; `kind` is what a number counts."""

    lines: Iterator[Line]
    total: int | None
    kind: str


def read_texts(arguments: tuple[str, ...], source: str | None, text_column: str) -> Texts:
    """Return the texts given as arguments, in the file `source`, or on standard input ("-", or if nothing is given).

    A file that has the ending of a table is read as one, whose texts are in the column `text_column`. One that has the
    ending of an archive or a document, or begins like one, is refused: its bytes are no texts.

    Raises
    ------
    UsageError
        If both or neither are given.
    DataError
        If the file cannot be read.
    EmptyTextError
        If it holds no text.
    MissingDependencyError
        If it is Parquet and pyarrow is not installed.
    """
    if arguments and source is not None:
        raise click.UsageError("got TEXT and --input, expected one of the two")
    if arguments:
        return Texts((Line(number, text) for number, text in enumerate(arguments, 1)), len(arguments), "text")
    if source == "":
        raise click.UsageError(
            "got an empty name of a file, expected --input FILE; is a variable of your shell not set?"
        )
    if source is not None and source != "-":
        return _file(source, text_column)
    if sys.stdin is None or (source is None and sys.stdin.isatty()):
        raise click.UsageError('got no text, expected TEXT, --input FILE or a pipe, as in: mase explain "What a film!"')
    return Texts(_not_empty(sys.stdin.buffer, "standard input"), None, "line")


def _file(name: str, text_column: str) -> Texts:
    remedy = _FOREIGN.get(Path(name).suffix.lower())
    if remedy is not None:
        raise _no_text(repr(name), remedy)
    if is_table(name):
        return _counted(name, "row", lambda: _rows(name, text_column))
    return _counted(name, "line", lambda: _opened(name))


def _counted(name: str, kind: str, read: Callable[[], Iterator[Line]]) -> Texts:
    """Return the texts of a file, read once to count them; those of a pipe, which can be read only once, are not counted."""
    path = Path(name)
    if path.is_dir():
        raise DataError(f"cannot read {name!r}: it is a folder, expected a file with one text per line, or a table")
    try:
        path.stat()
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        raise cannot_read(name, error) from error
    return Texts(read(), sum(1 for _ in read()) if path.is_file() else None, kind)


def _rows(name: str, text_column: str) -> Iterator[Line]:
    return (
        Line(row.row, row.text, row.error) for row in iter_labelled(name, text_column=text_column, label_column=None)
    )


def _opened(name: str) -> Iterator[Line]:
    try:
        with Path(name).open("rb") as file:
            yield from _not_empty(file, repr(name))
    except DataError:
        raise
    except OSError as error:
        raise cannot_read(name, error) from error


def _no_text(name: str, remedy: str) -> DataError:
    return DataError(f"{name} holds no lines of text and is no table that can be read here; {remedy}")


def _not_empty(stream: BinaryIO, name: str) -> Iterator[Line]:
    empty = True
    for line in _decoded(stream, name):
        empty = False
        yield line
    if empty:
        raise EmptyTextError(f"{name} holds no text, expected one per line; or give TEXT, or --input FILE")


def _decoded(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Yield the lines of a UTF-8 stream without a byte order mark, line ends and blank lines at the end."""
    at = 0
    for number, raw in enumerate(_without_blank_end(stream), 1):
        remedy = next((remedy for magic, remedy in _MAGIC.items() if number == 1 and raw.startswith(magic)), None)
        if remedy is not None:
            raise _no_text(name, remedy)
        if number == 1 and raw.startswith(_UTF16):
            raise DataError(f"{name} is UTF-16, expected UTF-8; convert it, for example with: iconv -f UTF-16 -t UTF-8")
        skipped = len(codecs.BOM_UTF8) if number == 1 and raw.startswith(codecs.BOM_UTF8) else 0
        try:
            yield Line(number, raw[skipped:].decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            byte = f"byte {at + skipped + error.start} (0x{raw[skipped + error.start]:02x})"
            yield Line(number, "", InvalidTextError(f"{name} is not UTF-8 at {byte}; convert it"))
        at += len(raw)


def _without_blank_end(stream: BinaryIO) -> Iterator[bytes]:
    blank: list[bytes] = []
    for raw in stream:
        if not raw.strip(codecs.BOM_UTF8 + b" \t\r\n"):
            blank.append(raw)
            continue
        yield from blank
        blank.clear()
        yield raw
