"""The class scores of rows that were evaluated, so that no row is evaluated twice."""

from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np

from mase.arrays import Floats, Ints

__all__ = ["KnownScores"]

R = TypeVar("R", Floats, Ints)


class KnownScores:
    """Class scores by row, for rows of zeros and ones over all p coordinates, or for rows of p integers."""

    def __init__(self) -> None:
        self._scores: dict[bytes, Floats] = {}

    def __len__(self) -> int:
        return len(self._scores)

    def with_text(self, start: Floats, p: int) -> Self:
        """Add the scores `(1, k)` of the text itself, a row of p ones or of 0 to p - 1, and return self."""
        self.add(np.ones((1, p)), start)
        self.add(np.arange(p)[None], start)
        return self

    def add(self, rows: Floats | Ints, scores: Floats) -> None:
        """Keep the scores `(n, k)` of rows `(n, p)`; of a row that was asked before, the first answer."""
        for key, score in zip(_keys(rows), scores, strict=True):
            self._scores.setdefault(key, score)

    def get(self, rows: Floats | Ints) -> list[Floats | None]:
        """Return the scores `(k,)` of each row of `(n, p)`; None for a row that was not asked."""
        return [self._scores.get(key) for key in _keys(rows)]

    def complete(self, rows: R, ask: Callable[[R], Floats]) -> Floats:
        """Return the scores `(n, k)` of rows `(n, p)`.

        `ask` returns the scores of the rows that were not asked before. It is called at most once, with each of them
        once and in the order in which they first appear.
        """
        keys, first = _keys(rows), dict[bytes, int]()
        for index, key in enumerate(keys):
            if key not in self._scores:
                first.setdefault(key, index)
        if first:
            scores = ask(rows if len(first) == len(rows) else rows[list(first.values())])
            self._scores.update(zip(first, scores, strict=True))
        return np.array([self._scores[key] for key in keys])


def _keys(rows: Floats | Ints) -> list[bytes]:
    packed = np.packbits(rows == 1, axis=1) if rows.dtype.kind == "f" else rows
    return [row.tobytes() for row in packed]
