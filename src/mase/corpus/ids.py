"""Check that the ids of a corpus are unique, with eight bytes of memory per id."""

from array import array
from collections.abc import Iterable

import numpy as np

__all__ = ["Ids"]


class Ids:
    """Ids, of which only the hashes are remembered."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, name: str) -> None:
        """Take the next id."""
        self._hashes.append(hash(name))

    def repeated(self, names: Iterable[str]) -> tuple[int, int] | None:
        """Return the positions of the first repeated id and of the first one that repeats it; None if all differ.

        Call it once, after the last id.

        Parameters
        ----------
        names
            All ids again, in order. They are read only if two hashes are equal.
        """
        hashes = np.frombuffer(self._hashes, dtype=np.int64)
        hashes.sort()
        candidates = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
        first: dict[str, int] = {}
        for position, name in enumerate(names if candidates else ()):
            if hash(name) in candidates and first.setdefault(name, position) != position:
                return first[name], position
        return None
