"""The body of an answer, which is decompressed as it arrives and up to a limit."""

import zlib
from typing import Any

__all__ = ["CODINGS", "Body", "BodyError"]

# What a server may compress an answer with. Brotli and zstd pack so much into a few bytes that only their size after
# decompression would bound the memory, and a body that is packed twice does so, too.
CODINGS = "gzip, deflate"
_PACKED = ("gzip", "x-gzip", "deflate")
_NOT_READ = ("br", "zstd", "compress", "x-compress", "dcb", "dcz")
# As zlib.decompressobj names gzip or zlib, and deflate as some servers send it, each with the largest window.
_EITHER_HEADER, _NO_HEADER = 47, -15
# The lower half of the first byte of zlib and of gzip. Without a header, deflate does not begin so.
_FIRST = (8, 15)


class BodyError(ValueError):
    """The body is packed in a way that is not read, is damaged, or is too long."""


class Body:
    """The body of one answer.

    Parameters
    ----------
    coding
        The header `Content-Encoding` of the answer; empty if it has none. What is no coding, such as the "utf-8" of
        some servers, is passed over.
    most
        Largest number of bytes after decompression.

    Attributes
    ----------
    content
        The bytes so far, after decompression.

    Raises
    ------
    BodyError
        If the coding is not read.

    Examples
    --------
    >>> body = Body("deflate", most=10)
    >>> body.add(zlib.compress(b"0.25"))
    >>> bytes(body.content)
    b'0.25'
    """

    def __init__(self, coding: str, most: int) -> None:
        self.content = bytearray()
        self._most = most
        names = [name.strip().lower() for name in coding.split(",")]
        known = [name for name in names if name in (*_PACKED, *_NOT_READ)]
        if len(known) > 1 or (known and known[0] in _NOT_READ):
            raise BodyError(f"the Content-Encoding {coding!r:.60}, expected one of {CODINGS}, or none")
        self._coding = known[0] if known else None
        self._unpacking: Any = None

    def add(self, part: bytes) -> None:
        """Add the next bytes that arrived. They are never unpacked beyond the limit.

        Raises
        ------
        BodyError
            If they cannot be unpacked, or the body is too long.
        """
        room = self._most - len(self.content)
        try:
            plain = part if self._coding is None else self._unpacked(part, room + 1)
        except zlib.error as error:
            raise BodyError(
                f"bytes that cannot be unpacked ({error}), expected those of its Content-Encoding"
            ) from error
        if len(plain) > room:
            raise BodyError(
                f"more than {self._most:,} bytes, expected the scores of a batch; pass a smaller batch_size, or a "
                "larger max_response_bytes"
            )
        self.content += plain

    def _unpacked(self, part: bytes, most: int) -> bytes:
        """Return at most so many bytes of what was packed. What follows its end is dropped, or zlib would keep it."""
        if self._unpacking is None:
            is_bare = self._coding == "deflate" and part[:1] and part[0] & 15 not in _FIRST
            self._unpacking = zlib.decompressobj(_NO_HEADER if is_bare else _EITHER_HEADER)
        return b"" if self._unpacking.eof else self._unpacking.decompress(part, most)
