"""Which slices of a corpus a run explains."""

import re
from dataclasses import dataclass
from typing import Self

from mase.errors import OptionError
from mase.scalars import check_integer

__all__ = ["Plan", "Shard", "automatic_part_size"]

_SMALLEST, _MOST_PARTS = 32, 2_500


def automatic_part_size(n: int) -> int:
    """Return the texts per part: the smallest power of two from 32 on that makes at most 2,500 parts of n texts.

    Examples
    --------
    >>> automatic_part_size(1_000), automatic_part_size(1_000_000)
    (32, 512)
    """
    size = _SMALLEST
    while n > size * _MOST_PARTS:
        size *= 2
    return size


@dataclass(frozen=True, slots=True)
class Shard:
    """Share number `number` (from 1) of `of` shares of the parts.

    Raises
    ------
    OptionError
        If the number is not from 1 to `of`.
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise OptionError(f"shard is {self.number}/{self.of}, expected I/N with I from 1 to N, as in 1/4")

    @classmethod
    def parse(cls, typed: str) -> Self:
        """Return the shard that is written as ``I/N``.

        Raises
        ------
        OptionError
            If it is not.
        """
        found = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", typed) if isinstance(typed, str) else None
        if found is None:
            raise OptionError(f"shard is {typed!r}, expected I/N, as in 1/4")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a corpus of `n` texts: slices of `part_size` texts, of which a shard has every N-th.

    Raises
    ------
    OptionError
        If a number is out of range.
    """

    n: int
    part_size: int
    shard: Shard = Shard()

    def __post_init__(self) -> None:
        check_integer("part_size", self.part_size, 1)
        if self.n < 0:
            raise OptionError(f"n is {self.n}, expected the number of texts")

    @property
    def n_parts(self) -> int:
        """Number of parts of the whole corpus."""
        return -(-self.n // self.part_size)

    @property
    def parts(self) -> range:
        """The parts of the shard, in order."""
        return range(self.shard.number - 1, self.n_parts, self.shard.of)

    def rows(self, part: int) -> range:
        """Return the rows of a part."""
        return range(part * self.part_size, min(self.n, (part + 1) * self.part_size))
