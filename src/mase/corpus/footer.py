"""The footer of a Parquet file: what it says of the columns in each group of rows.

Asked for this of a damaged footer, pyarrow ends the process. So it is read here: structs in the compact protocol of
Thrift, as the specifications of Thrift and of Parquet define them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

__all__ = ["LARGEST", "Chunk", "read_footer"]

LARGEST = 16 << 20  # bytes
_END = 8  # length of the footer in four bytes, and four more that mark the format
_MARK = b"PAR1"
_LONGEST_INTEGER = 64  # bits
# Types of values in the compact protocol.
_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT = 1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12
# Numbers of the fields: of the file, a group of rows, a column in it, the metadata of that, and its statistics.
_GROUPS, _COLUMNS, _METADATA, _STATISTICS, _NULL_COUNT = 4, 1, 3, 12, 3
_NUM_VALUES, _UNCOMPRESSED_SIZE = 5, 6


@dataclass(frozen=True, slots=True)
class Chunk:
    """What the footer says of a column in a group of rows.

    Attributes
    ----------
    num_values
        Number of values, null or not; more than one per row in a list.
    size
        Bytes without compression.
    null_count
        Number of values that are null; None if it does not say.
    """

    num_values: int
    size: int
    null_count: int | None


def read_footer(file: BinaryIO) -> list[list[Chunk]]:
    """Return the columns of each group of rows of a Parquet file.

    Raises
    ------
    ValueError
        If there is no such footer.
    OSError
        If the file cannot be read.
    """
    end = file.seek(0, 2)
    file.seek(max(0, end - _END))
    tail = file.read(_END)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MARK or length > min(LARGEST, end - _END):
        raise ValueError("it has no footer of Parquet")
    file.seek(end - _END - length)
    try:
        groups = _Reader(file.read(length)).struct()[_GROUPS]
        return [[_chunk(column[_METADATA]) for column in group[_COLUMNS]] for group in groups]
    except (LookupError, TypeError, AttributeError, RecursionError) as error:  # other types than a footer has
        raise ValueError("its footer is damaged") from error


def _chunk(metadata: dict[int, Any]) -> Chunk:
    nulls = metadata.get(_STATISTICS, {}).get(_NULL_COUNT)
    return Chunk(int(metadata[_NUM_VALUES]), int(metadata[_UNCOMPRESSED_SIZE]), None if nulls is None else int(nulls))


class _Reader:
    """Values in the compact protocol. What they may take is bounded by the bytes that are there."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at = content, 0
        self._kinds: dict[int, Callable[[], Any]] = {
            _TRUE: lambda: True,
            _FALSE: lambda: False,
            _BYTE: self._byte,
            **dict.fromkeys(_INTEGERS, self._integer),
            _DOUBLE: lambda: self._bytes(8),
            _BINARY: lambda: self._bytes(self._varint()),
            **dict.fromkeys(_LISTS, self._list),
            _MAP: self._map,
            _STRUCT: self.struct,
        }

    def struct(self) -> dict[int, Any]:
        """Return the fields of a struct by number. A field that is there twice, one of which is read, is refused."""
        found: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            if number in found:
                raise ValueError(f"its footer has field {number} twice")
            found[number] = self._kinds[header & 15]()
        return found

    def _list(self) -> list[Any]:
        header = self._byte()
        n = self._varint() if header >> 4 == 15 else header >> 4
        read = self._element(header & 15)
        return [read() for _ in range(n)]

    def _map(self) -> None:
        n = self._varint()
        if n:
            kinds = self._byte()
            key, value = self._element(kinds >> 4), self._element(kinds & 15)
            for _ in range(n):
                key(), value()

    def _element(self, kind: int) -> Callable[[], Any]:
        return self._byte if kind in (_TRUE, _FALSE) else self._kinds[kind]

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _bytes(self, n: int) -> None:
        """Pass over n bytes, which nobody asks for."""
        self._at += n
        if self._at > len(self._content):
            raise ValueError("its footer ends early")

    def _varint(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << shift
            shift += 7
            if shift > _LONGEST_INTEGER:
                raise ValueError("its footer has a number that is too long")
        return number | byte << shift

    def _integer(self) -> int:
        number = self._varint()
        return number >> 1 ^ -(number & 1)
