"""The class scores of rows of zeros and ones that a model has been asked for."""

import numpy as np

from mase.arrays import Floats

__all__ = ["Answers"]


class Answers:
    """Class scores by row, for rows of zeros and ones over all p coordinates. Other rows are not kept."""

    def __init__(self) -> None:
        self._scores: dict[bytes, Floats] = {}

    def __len__(self) -> int:
        return len(self._scores)

    def add(self, rows: Floats, scores: Floats) -> None:
        """Keep the scores `(n, k)` of rows `(n, p)`; of a row that is asked twice, the first answer."""
        binary = np.flatnonzero(np.all((rows == 0) | (rows == 1), axis=1))
        for key, score in zip(_keys(rows[binary]), scores[binary], strict=True):
            self._scores.setdefault(key, score)

    def get(self, rows: Floats) -> list[Floats | None]:
        """Return the scores `(k,)` of each row of `(n, p)`; None for a row that was not asked."""
        return [self._scores.get(key) for key in _keys(rows)]


def _keys(rows: Floats) -> list[bytes]:
    return [packed.tobytes() for packed in np.packbits(rows == 1, axis=1)]
