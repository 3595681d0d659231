"""Files of texts, unpacked as they are read where their ending says that they are packed; never more than a limit."""

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
# A text packs to a third or a tenth of its size, a table with much repeated to a fiftieth; a bomb to a thousandth.
_MOST_BYTES, _MOST_TIMES = 1 << 24, 100
_OPENERS: dict[str, Callable[[Path], io.BufferedIOBase]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


def format_of(path: Path) -> str:
    """Return the ending that tells the format, in lower case and without that of the packing.

    Examples
    --------
    >>> format_of(Path("reviews.CSV.gz")), format_of(Path("reviews.v2.tsv")), format_of(Path("reviews.gz"))
    ('.csv', '.tsv', '')
    """
    inner = path.with_suffix("") if path.suffix.lower() in _OPENERS else path
    return inner.suffix.lower()


def open_unpacked(path: Path) -> BinaryIO:
    """Return the file at `path`, open for reading bytes; unpacked if it ends in .gz, .bz2 or .xz.

    Reading it raises a DataError if what is packed is damaged, or is far larger than any text packs to.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    opener = _OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open("rb")
    most = max(_MOST_BYTES, _MOST_TIMES * path.stat().st_size)
    return io.BufferedReader(_Unpacked(opener(path), path, most), 1 << 16)


def lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a file with their ends.

    Raises
    ------
    DataError
        If one is longer than LONGEST_LINE.
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
    """A packed file as a stream of bytes, whose errors are typed."""

    def __init__(self, file: io.BufferedIOBase, path: Path, most: int) -> None:
        self._file, self._path, self._most, self._n_bytes = file, path, most, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as one read does, and return how far that is."""
        try:
            data = self._file.read(len(buffer))
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise DataError(
                f"{str(self._path)!r} cannot be unpacked ({error}), expected a whole {self._path.suffix} file; "
                "pack it again"
            ) from error
        self._n_bytes += len(data)
        if self._n_bytes > self._most:
            raise DataError(
                f"{str(self._path)!r} unpacks to more than {self._most:,} bytes; unpack it yourself if that is right"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file under it, too."""
        self._file.close()
        super().close()
