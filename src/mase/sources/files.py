"""Tables and lines in files: CSV, TSV, JSON Lines, Parquet and text, compressed or not."""

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

from mase.document import Document
from mase.errors import DataError, InvalidTextError, MaseError, MissingDependencyError
from mase.files import cannot_read

LONGEST_LINE = 1 << 27  # bytes

# A text compresses to a third or a tenth of its size, a repetitive table to a fiftieth, a bomb to a thousandth.
_MOST_BYTES, _MOST_TIMES = 1 << 24, 100

_OPENERS: dict[str, Callable[[Path], io.BufferedIOBase]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


def format_of(path: Path) -> str:
    """Return the suffix of the format in lower case, without that of the compression.

    Examples
    --------
    >>> format_of(Path("reviews.CSV.gz")), format_of(Path("reviews.v2.tsv")), format_of(Path("reviews.gz"))
    ('.csv', '.tsv', '')
    """
    inner = path.with_suffix("") if path.suffix.lower() in _OPENERS else path
    return inner.suffix.lower()


def open_unpacked(path: Path) -> BinaryIO:
    """Return the file at `path`, open for reading bytes, and decompressed if its suffix is .gz, .bz2 or .xz.

    Reading raises a DataError if the content is damaged, or far larger than a compressed text can be.
    """
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb")
    most = max(_MOST_BYTES, _MOST_TIMES * path.stat().st_size)
    return io.BufferedReader(_Unpacked(opener(path), path, most), 1 << 16)


def lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a file with their line ends."""
    number = 0
    while line := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataError(
                f"line {number} of {name} is longer than {LONGEST_LINE:,} bytes, expected one text per line"
            )
        yield line


class _Unpacked(io.RawIOBase):
    """A compressed file as a stream of bytes with typed errors."""

    def __init__(self, file: io.BufferedIOBase, path: Path, most: int) -> None:
        self._file, self._path, self._most, self._n_bytes = file, path, most, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into the buffer once, and return the number of bytes."""
        try:
            data = self._file.read(len(buffer))
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise DataError(
                f"{str(self._path)!r} cannot be unpacked ({error}), expected a complete {self._path.suffix} file; "
                "compress it again"
            ) from error
        self._n_bytes += len(data)
        if self._n_bytes > self._most:
            raise DataError(
                f"{str(self._path)!r} unpacks to more than {self._most:,} bytes; unpack it yourself if that is right"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close this stream and the compressed file."""
        self._file.close()
        super().close()


_UNPACK = "unpack it first, as with unzip, zstd or tar"
_AS_TABLE = "save it as CSV (UTF-8), or as Parquet"
_AS_LINES = "write it as .jsonl, one JSON object per line"
_AS_TEXT = "save it as plain text (UTF-8), one text per line"

_ENDINGS = (
    dict.fromkeys((".bgz", ".zst", ".lz4", ".br", ".z", ".tgz", ".zip", ".7z", ".rar", ".tar"), _UNPACK)
    | dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), _AS_TABLE)
    | dict.fromkeys((".feather", ".arrow", ".orc", ".avro", ".dta", ".sav", ".rds", ".sas7bdat"), _AS_TABLE)
    | dict.fromkeys((".db", ".sqlite", ".sqlite3", ".h5", ".hdf5", ".npy", ".npz", ".pkl", ".pickle"), _AS_TABLE)
    | dict.fromkeys((".json",), _AS_LINES)
    | dict.fromkeys((".doc", ".docx", ".odt", ".pages", ".rtf", ".pdf", ".epub", ".ppt", ".pptx"), _AS_TEXT)
)

_MAGIC = {
    b"\x1f\x8b": "name it .gz, as in reviews.csv.gz",
    b"BZh": "name it .bz2, as in reviews.csv.bz2",
    b"\xfd7zXZ\x00": "name it .xz, as in reviews.csv.xz",
    b"\x28\xb5\x2f\xfd": _UNPACK,  # Zstandard
    b"7z\xbc\xaf\x27\x1c": _UNPACK,
    b"PK\x03\x04": f"{_UNPACK}, or if it is a document, save it as CSV or plain text",  # zip, and Office in it
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "save it as CSV or plain text (UTF-8)",  # Office before 2007
    b"%PDF-": _AS_TEXT,
    b"{\\rtf": _AS_TEXT,
    b"PAR1": "name it .parquet",
    b"SQLite format 3\x00": _AS_TABLE,
    b"\x93NUMPY": _AS_TABLE,
}


def check_ending(path: Path) -> None:
    """Check that a file does not have the suffix of an archive, a document or an unsupported table."""
    remedy = _ENDINGS.get(format_of(path))
    if remedy is not None:
        raise _foreign(repr(str(path)), remedy)


def check_beginning(name: str, beginning: bytes) -> None:
    """Check that the first bytes of `name` are not those of an archive, a document or a Parquet table."""
    remedy = next((remedy for magic, remedy in _MAGIC.items() if beginning.startswith(magic)), None)
    if remedy is not None:
        raise _foreign(name, remedy)
    if beginning.startswith(_UTF16):
        raise DataError(f"{name} is UTF-16, expected UTF-8; convert it, for example with: iconv -f UTF-16 -t UTF-8")


def _foreign(name: str, remedy: str) -> DataError:
    return DataError(f"{name} is neither lines of text nor a supported table; {remedy}")


_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Line:
    """One text or document and its number in the input, from 1; `error` is set if it could not be read."""

    number: int
    text: str | Document
    error: MaseError | None = None


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, which is decompressed as it is read if its suffix is .gz, .bz2 or .xz."""
    check_ending(path)
    try:
        with open_unpacked(path) as file:
            yield from decode_lines(file, repr(str(path)))
    except DataError:
        raise
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise cannot_read(path, error) from error


def decode_lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Yield the lines of a UTF-8 stream with any line ends, without these, byte order mark and trailing blank lines.

    A line that is not UTF-8 carries an InvalidTextError.
    """
    offset = 0
    every = (part for raw in lines(stream, name) for part in raw.splitlines(keepends=True))
    for number, raw in enumerate(_without_blank_end(every), 1):
        if number == 1:
            check_beginning(name, raw)
        skipped = len(codecs.BOM_UTF8) if number == 1 and raw.startswith(codecs.BOM_UTF8) else 0
        try:
            yield Line(number, raw[skipped:].decode("utf-8").rstrip("\r\n"))
        except UnicodeDecodeError as error:
            byte = f"byte {offset + skipped + error.start} (0x{raw[skipped + error.start]:02x})"
            yield Line(number, "", InvalidTextError(f"{name} is not UTF-8 at {byte}; convert it"))
        offset += len(raw)


def _without_blank_end(raw_lines: Iterator[bytes]) -> Iterator[bytes]:
    blank: list[bytes] = []
    for raw in raw_lines:
        if not raw.strip(codecs.BOM_UTF8 + b" \t\r\n"):
            blank.append(raw)
            continue
        yield from blank
        blank.clear()
        yield raw


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingDependencyError("pyarrow is not installed; run: pip install 'mase-xai[data]'") from error
    return pyarrow, pyarrow.parquet


# Separators by suffix. The heading decides; if it does not, the first separator is used.
_SEPARATORS = {".csv": ",;\t", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson")
_PARQUET = (".parquet", ".pq")
TABLE_SUFFIXES = (*_SEPARATORS, *_LINES, *_PARQUET)

# Rows of a Parquet file that are read at a time; long texts of more rows would fill the memory.
_AT_A_TIME = 1_024

# The cells of a row by column, or the error if the row cannot be read.
TableRow = Mapping[str, Any] | DataError


def is_table(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the suffix of a table.

    Examples
    --------
    >>> is_table("reviews.CSV"), is_table("reviews.csv.gz"), is_table("reviews.txt")
    (True, True, False)
    """
    return format_of(Path(path)) in TABLE_SUFFIXES


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[TableRow]:
    """Yield the rows of a table, with at least these columns if it has them. For an invalid row, yield its error."""
    kind = format_of(path)
    try:
        if kind in _PARQUET:
            yield from _parquet(path, columns)
            return
        check_ending(path)
        if kind not in TABLE_SUFFIXES:
            known = ", ".join(TABLE_SUFFIXES)
            raise DataError(f"{os.fspath(path)!r} has an unknown suffix, expected one of {known}")
        with open_unpacked(path) as file:
            yield from _json_lines(file, path) if kind in _LINES else _separated(file, path, _SEPARATORS[kind])
    except DataError:
        raise
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        reason = error.strerror if isinstance(error, OSError) else None
        raise DataError(f"cannot read {os.fspath(path)!r:.300}: {reason or error}") from error


def _separated(file: BinaryIO, path: Path, separators: str) -> Iterator[TableRow]:
    text = _decoded(file, repr(os.fspath(path)))
    first = next(text, "")
    separator = max(separators, key=lambda mark: len(_next(csv.reader([first], delimiter=mark)) or []))
    reader = csv.reader(chain([first], text), delimiter=separator, strict=True)
    try:
        heading = _next(reader) or []
        _check_names(repr(os.fspath(path)), heading)
        while (cells := _next(reader)) is not None:
            if not cells:  # skip blank lines
                continue
            if len(cells) == len(heading):
                yield dict(zip(heading, cells, strict=True))
            else:
                yield DataError(
                    f"another number of fields than the heading, got {len(cells)}, expected {len(heading)}; "
                    f"quote fields that hold a {separator!r}"
                )
    except csv.Error as error:
        raise DataError(
            f"{os.fspath(path)!r} cannot be read at line {reader.line_num}: {error}; close the quotes, and double "
            "those within a field"
        ) from error


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with any line ends, without a byte order mark."""
    start = 0
    for raw in lines(file, name):
        if start == 0:
            check_beginning(name, raw)
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(f"{name} is not UTF-8 at byte {start + error.start}; convert it") from error
        text = text.removeprefix("\ufeff") if start == 0 else text
        yield from StringIO(text, newline="") if "\r" in text else (text,)
        start += len(raw)


def _check_names(place: str, names: Sequence[str]) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{place} has the column {repeated!r} twice, expected unique names")


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the cells of the next row, or None after the last one; fields may have any length.

    The size limit of the csv module is global. It is restored at once, because other tables may be open.
    """
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(before)


def _json_lines(file: BinaryIO, path: Path) -> Iterator[TableRow]:
    for number, line in enumerate(lines(file, repr(os.fspath(path))), 1):
        if number == 1:
            check_beginning(repr(os.fspath(path)), line)
        if line.strip():
            yield _object(line, number)


def _object(line: bytes, number: int) -> TableRow:
    try:
        row = json.loads(line.decode("utf-8-sig"), object_pairs_hook=lambda pairs: _once(f"line {number}", pairs))
    except DataError as error:
        return error
    except (ValueError, RecursionError) as error:
        return DataError(f"line {number} is not JSON ({error}), expected an object")
    return row if isinstance(row, dict) else DataError(f"line {number} is a {type(row).__name__}, expected an object")


def _once(place: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        _check_names(place, [name for name, _ in pairs])
    return row


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[TableRow]:
    pa, parquet = require_pyarrow()
    try:
        with parquet.ParquetFile(path) as file:
            present = file.schema_arrow.names
            _check_names(repr(os.fspath(path)), present)
            picked = [column for column in dict.fromkeys(columns) if column in present]
            if len(picked) == len(set(columns)):
                for batch in file.iter_batches(_AT_A_TIME, columns=picked):
                    try:
                        yield from batch.to_pylist()
                    except OverflowError:  # Python has the years 1 to 9999 only
                        yield from map(_parquet_row, (batch.slice(row, 1) for row in range(len(batch))))
            else:  # the error about a missing column lists the present ones, so their names suffice
                yield from (
                    {**dict.fromkeys(present), **row}
                    for batch in file.iter_batches(_AT_A_TIME, columns=picked)
                    for row in batch.to_pylist()
                )
    except pa.ArrowException as error:
        raise DataError(f"{os.fspath(path)!r} is not a Parquet table: {error}") from error


def _parquet_row(batch: Any) -> TableRow:
    try:
        return cast(TableRow, batch.to_pylist()[0])
    except OverflowError as error:
        return DataError(f"a date or a time that cannot be read ({error}), expected the years 1 to 9999")
