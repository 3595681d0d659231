"""Read archives member by member, within limits and without extracting files to disk."""

import gzip
import re
import tarfile
import zlib
from collections.abc import Iterator
from typing import IO, cast

from mase.errors import DataError

__all__ = ["ARCHIVE_BYTES", "HEADER_BYTES", "MEMBERS", "MEMBER_BYTES", "UNPACKED_BYTES", "decoded", "members", "number"]

ARCHIVE_BYTES = 512 << 20  # of a download: IMDB has 84 MB
UNPACKED_BYTES = 1 << 30  # of a whole archive: IMDB has about a third
MEMBER_BYTES = 64 << 20  # of one member that is read: a file of Reuters has 1.5 MB
HEADER_BYTES = 1 << 20  # of what describes a member, as a long name
MEMBERS = 300_000  # IMDB has 100,022
_DIGITS = 18  # numbers of up to 18 digits fit into 64 bits

# Errors of tarfile, gzip and zlib for damaged and hostile archives; gzip's own error is an OSError.
_DAMAGED = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, LookupError, ArithmeticError, RecursionError)


def members(archive: IO[bytes], pattern: str) -> Iterator[tuple[re.Match[str], bytes]]:
    """Yield the match of the name and the content of each regular file of a tar.gz whose whole name matches `pattern`.

    Raises
    ------
    DataError
        If the archive is truncated, is not a tar.gz, unpacks to more than the limits of this module, or has a link or a
        device instead of a file.
    """
    wanted = re.compile(pattern)
    try:
        with gzip.GzipFile(fileobj=archive) as unpacked, tarfile.open(fileobj=_bounded(unpacked), mode="r:") as tar:
            for count, member in enumerate(tar, 1):
                if count > MEMBERS:
                    raise DataError(
                        f"the archive has more than {MEMBERS:,} members, which is the limit; download it again"
                    )
                tar.members = []  # type: ignore[attr-defined]  # or tarfile would keep all members
                match = wanted.fullmatch(member.name.removeprefix("./"))
                if match:
                    yield match, _content(unpacked, member)
    except DataError:
        raise
    except _DAMAGED as error:
        raise DataError(
            f"the archive is not a complete tar.gz ({error or type(error).__name__}); download it again"
        ) from error


def decoded(match: re.Match[str], content: bytes) -> str:
    """Return the text of a member in UTF-8.

    Raises
    ------
    DataError
        If it is not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"member {match[0]!r:.200} of the archive is not UTF-8 at byte {error.start}, expected the official archive"
        ) from error


def number(digits: str, where: str) -> int:
    """Return an integer that fits into 64 bits.

    Raises
    ------
    DataError
        If it has too many digits.
    """
    if len(digits) > _DIGITS or not digits.isascii() or not digits.isdecimal():
        raise DataError(
            f"{where} has the number {digits[:20]!r} of {len(digits):,} characters, expected up to {_DIGITS} digits"
        )
    return int(digits)


def _content(unpacked: gzip.GzipFile, member: tarfile.TarInfo) -> bytes:
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or member.issparse():
        raise DataError(
            f"member {member.name!r:.200} of the archive is a link, a folder or a device, expected a regular file"
        )
    if member.size > MEMBER_BYTES:
        raise DataError(
            f"member {member.name!r:.200} of the archive has {member.size:,} bytes, expected at most {MEMBER_BYTES:,}"
        )
    unpacked.seek(member.offset_data)
    content = unpacked.read(member.size)
    if len(content) < member.size:
        raise EOFError("it ends within a member")
    return content


def _bounded(file: gzip.GzipFile) -> IO[bytes]:
    return cast(IO[bytes], _Bounded(file))


class _Bounded:
    """A file with a limit on the unpacked size, because a small archive can unpack to any size."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self._header = 0  # bytes of the long header that is being read

    def read(self, size: int) -> bytes:
        """Return `size` bytes of a header, which newer versions of Python read in pieces."""
        self._header = 0 if size == tarfile.BLOCKSIZE else self._header + size
        if size < 0 or self._header > HEADER_BYTES:
            raise DataError(f"the archive has a header of {self._header:,} bytes, expected at most {HEADER_BYTES:,}")
        self._check(self._file.tell())
        return self._file.read(size)

    def seek(self, offset: int) -> int:
        """Go to an offset from the start; a gzip file unpacks everything before it."""
        self._check(offset)
        return self._file.seek(offset)

    def tell(self) -> int:
        """Return the offset from the start."""
        return self._file.tell()

    def _check(self, offset: int) -> None:
        if offset > UNPACKED_BYTES:
            raise DataError(f"the archive unpacks to more than {UNPACKED_BYTES:,} bytes, which is the limit")
