"""Read files of texts, which are decompressed on the fly, up to a limit, if their suffix says so."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from mase.errors import DataError

__all__ = ["LONGEST_LINE", "format_of", "lines", "open_unpacked"]

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

    Raises
    ------
    OSError
        If the file cannot be opened.
    """
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb")
    most = max(_MOST_BYTES, _MOST_TIMES * path.stat().st_size)
    return io.BufferedReader(_Unpacked(opener(path), path, most), 1 << 16)


def lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a file with their line ends.

    Raises
    ------
    DataError
        If a line is longer than LONGEST_LINE.
    """
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
