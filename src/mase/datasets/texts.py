"""Read files with one text per line, in UTF-8."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mase.datasets.foreign import check_beginning, check_ending
from mase.datasets.unpacked import lines, open_unpacked
from mase.document import Document
from mase.errors import DataError, InvalidTextError, MaseError
from mase.files import cannot_read

__all__ = ["Line", "decode_lines", "read_lines"]

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Line:
    """One text or document and its number in the input, from 1; `error` is set if it could not be read."""

    number: int
    text: str | Document
    error: MaseError | None = None


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file, which is decompressed as it is read if its suffix is .gz, .bz2 or .xz.

    Raises
    ------
    DataError
        If the file cannot be read, is UTF-16, or has the suffix or the first bytes of an archive or a document.
    """
    check_ending(path)
    try:
        with open_unpacked(path) as file:
            yield from decode_lines(file, repr(str(path)))
    except DataError:
        raise
    except (OSError, ValueError) as error:  # a NUL in the name is a ValueError
        raise cannot_read(path, error) from error


def decode_lines(stream: BinaryIO, name: str) -> Iterator[Line]:
    """Yield the lines of a UTF-8 stream, without byte order mark, line ends and trailing blank lines.

    A line that is not UTF-8 carries an InvalidTextError.

    Raises
    ------
    DataError
        If the stream is UTF-16, begins like an archive or a document, or has a line that is too long.
    """
    offset = 0
    for number, raw in enumerate(_without_blank_end(lines(stream, name)), 1):
        if number == 1:
            check_beginning(name, raw)
        if number == 1 and raw.startswith(_UTF16):
            raise DataError(f"{name} is UTF-16, expected UTF-8; convert it, for example with: iconv -f UTF-16 -t UTF-8")
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
