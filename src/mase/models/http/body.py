"""The body of an answer, which is decompressed as it arrives and up to a limit."""

import zlib

__all__ = ["CODINGS", "Body", "BodyError"]

# What a server may compress an answer with. Brotli and zstd pack so much into a few bytes that only their size after
# decompression would bound the memory, and a body that is packed twice does so, too.
CODINGS = "gzip, deflate"
_PLAIN = ("", "identity")
_PACKED = ("gzip", "x-gzip", "deflate")
_EITHER_HEADER = 47  # as zlib.decompressobj names gzip or zlib, with the largest window


class BodyError(ValueError):
    """The body is packed in a way that is not read, is damaged, or is too long."""


class Body:
    """The body of one answer.

    Parameters
    ----------
    coding
        The header `Content-Encoding` of the answer; empty if it has none.
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
        self._unpacking = None
        if coding.strip().lower() in _PACKED:
            self._unpacking = zlib.decompressobj(_EITHER_HEADER)
        elif coding.strip().lower() not in _PLAIN:
            raise BodyError(f"the Content-Encoding {coding!r:.60}, expected one of {CODINGS}, or none")

    def add(self, part: bytes) -> None:
        """Add the next bytes that arrived. They are never unpacked beyond the limit.

        Raises
        ------
        BodyError
            If they cannot be unpacked, or the body is too long.
        """
        room = self._most - len(self.content)
        try:
            plain = part if self._unpacking is None else self._unpacking.decompress(part, room + 1)
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
