"""Second-moment matrices G `(p, p)` that provide blocks and products, so that long texts need not form them."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats, Ints

__all__ = ["Gram"]


@dataclass(frozen=True, slots=True)
class Gram:
    """G = R'R of rows R `(n, p)`, or a given matrix `(p, p)`. Build one with `of_rows` or `of`."""

    rows: Floats
    matrix: Floats | None

    @classmethod
    def of_rows(cls, rows: Floats) -> "Gram":
        """Return R'R, which is formed only if it is not larger than R."""
        n, p = rows.shape
        return cls(rows, rows.T @ rows if p <= n else None)

    @classmethod
    def of(cls, gram: "Floats | Gram") -> "Gram":
        """Return G from a matrix `(p, p)` or from a `Gram`."""
        return gram if isinstance(gram, Gram) else cls(np.empty((0, len(gram))), gram)

    def block(self, first: Ints, second: Ints) -> Floats:
        """Return the entries `(a, b)` of some rows and columns."""
        if self.matrix is not None:
            return self.matrix[np.ix_(first, second)]
        return np.asarray(self.rows[:, first].T @ self.rows[:, second])

    def times(self, vector: Floats, columns: Ints | None = None) -> Floats:
        """Return G v `(p,)`; with `columns`, v `(b,)` holds only the entries of these columns and the rest are 0."""
        if self.matrix is not None:
            return np.asarray((self.matrix if columns is None else self.matrix[:, columns]) @ vector)
        half = (self.rows if columns is None else self.rows[:, columns]) @ vector
        return np.asarray(self.rows.T @ half)

    def diagonal(self) -> Floats:
        """Return the diagonal `(p,)`."""
        if self.matrix is not None:
            return np.diag(self.matrix)
        return np.asarray(np.einsum("np,np->p", self.rows, self.rows))
