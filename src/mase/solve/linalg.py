"""SVD that always converges, second moments, one BLAS thread."""

from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache
from threading import Lock, local
from typing import Any

import numpy as np
from scipy import linalg
from threadpoolctl import OpenBLASController, ThreadpoolController

from mase.arrays import Floats, Ints
from mase.platforms import after_fork


def decomposed(matrix: Floats, *, whole: bool = False) -> tuple[Floats, Floats, Floats]:
    """Return the singular value decomposition u `(n, r)`, s `(r,)` and v' `(r, p)` of a matrix `(n, p)`.

    The algorithm of NumPy (gesdd of LAPACK) is fast, but does not converge for a few finite matrices. Of these the
    decomposition is by a slower one (gesvd).

    Parameters
    ----------
    matrix
        The matrix.
    whole
        Whether u is `(n, n)` and v' is `(p, p)`.

    Examples
    --------
    >>> decomposed(np.diag([3.0, 4.0]))[1].tolist()
    [4.0, 3.0]
    """
    try:
        return np.linalg.svd(matrix, full_matrices=whole)
    except np.linalg.LinAlgError:
        u, s, vt = linalg.svd(matrix, full_matrices=whole, lapack_driver="gesvd")
        return u, s, vt


class _Here(local):
    """How many blocks this thread is in, and what restores the numbers that are its own."""

    blocks = 0
    limit: Any = None


class _OneThread(ContextDecorator):
    """A block or a function in which NumPy and SciPy use one thread; several threads may be in it at once.

    With two threads an explanation takes several times as long as with one, because they wait for each other
    (`benchmarks/threads.py`). They also add numbers in another order, which changes the last bits of scores. A limit of
    the process is set by the first thread to enter and restored by the last to leave, and one of a thread by itself.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._here = Lock(), 0, _Here()
        after_fork(self._leave_to_this_thread)

    def __enter__(self) -> None:
        if not self._here.blocks:
            with self._lock:
                of_threads, of_process = _libraries()
                self._here.limit = of_threads.limit(limits=1, user_api="blas")
                if not self._inside:
                    _allow_this_thread()
                    self._limit = of_process.limit(limits=1, user_api="blas")
                self._inside += 1
        self._here.blocks += 1

    def __exit__(self, *_: object) -> None:
        self._here.blocks -= 1
        if not self._here.blocks:
            with self._lock:
                self._here.limit.restore_original_limits()
                self._inside -= 1
                if not self._inside:
                    self._restore()

    def _restore(self) -> None:
        _allow_this_thread()
        self._limit.restore_original_limits()
        _allow_this_thread()  # and others after it

    def _leave_to_this_thread(self) -> None:
        """Let a process that was forked go on as if all threads but this one, which it does not have, had left."""
        self._lock, others = Lock(), self._inside and not self._here.blocks
        self._inside = min(self._here.blocks, 1)
        if others:
            self._restore()


def _allow_this_thread() -> None:
    """Let this thread set the number of OpenBLAS, which threadpoolctl otherwise leaves to the first that ever did."""
    OpenBLASController.clear_controlling_thread(force=True)


@cache
def _libraries() -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the libraries in which each thread has a number of its own, and those with one for the process."""
    import scipy.linalg  # noqa: F401 (loads the libraries that are limited)

    found = ThreadpoolController().select(user_api="blas")
    of_threads = found.select(internal_api="mkl").lib_controllers
    of_threads += found.select(internal_api="openblas").select(threading_layer="openmp").lib_controllers
    paths = [library.filepath for library in of_threads]
    others = [library.filepath for library in found.lib_controllers if library.filepath not in paths]
    return found.select(filepath=paths), found.select(filepath=others)


one_thread = _OneThread()


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
