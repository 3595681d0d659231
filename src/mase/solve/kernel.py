"""How alike two masked copies are: the product kernel, its means over mask rates, and linear algebra."""

from collections.abc import Iterator
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache
from threading import Lock, local
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from threadpoolctl import OpenBLASController, ThreadpoolController

from mase.arrays import Floats, Ints
from mase.platforms import after_fork
from mase.solve.distributions import Mixture


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

    result = ThreadpoolController().select(user_api="blas")
    of_threads = result.select(internal_api="mkl").lib_controllers
    of_threads += result.select(internal_api="openblas").select(threading_layer="openmp").lib_controllers
    paths = [library.filepath for library in of_threads]
    others = [library.filepath for library in result.lib_controllers if library.filepath not in paths]
    return result.select(filepath=paths), result.select(filepath=others)


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


# How fast the likeness falls: copies that differ in a word of weight w are exp(-4 w) times as alike.
_RATE = 2.0
# Of more words, so few of all subsets are asked that it does not matter whether one was.
_MOST_SUBSETS = 16
# The least variance of a word under mask rates: one that is always kept has no effect.
_TINY = 1e-200


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """Likeness k(s, s') = a l + (1 - a) exp(2 (l - 1)) + c [s = s'] of copies of a text, with l = sum_j w_j s_j s'_j.

    A copy is a row of signs: s_j = 1 if word j is kept, -1 if it is masked. The weights w are positive and sum to 1, so
    that the agreement l is from -1 to 1. The three terms belong to effects of single words, to interactions of any
    order, and to what is true of one copy alone. As exp(2 (l - 1)) is the product of (1 + r_j s_j s'_j) / (1 + r_j)
    with r_j = tanh(2 w_j), and [s = s'] that with r_j = 1, the means over copies whose words are masked independently
    are products as well.

    Attributes
    ----------
    signs
        The copies `(n, p)`.
    weights
        Weights of the words `(p,)`.
    agreement, product
        l and exp(2 (l - 1)) of all pairs of copies `(n, n)`, in single precision, which is why c is never 0.
    """

    signs: Floats
    weights: Floats
    agreement: NDArray[np.float32]
    product: NDArray[np.float32]

    @classmethod
    def of(cls, signs: Floats, weights: Floats) -> Self:
        """Return the kernel of copies `(n, p)` for weights `(p,)`."""
        scaled = (signs * np.sqrt(weights)).astype(np.float32)
        agreement: NDArray[np.float32] = scaled @ scaled.T
        product = agreement - np.float32(1)
        product *= np.float32(_RATE)
        np.exp(product, out=product)
        return cls(signs, weights, agreement, product)

    def matrix(self, linear: float, diagonal: Floats) -> Floats:
        """Return k of all pairs `(n, n)` for a share a that is `linear`, with c and noise `(n,)` on the diagonal."""
        mixed = self.product * np.float32(1 - linear)
        mixed += np.float32(linear) * self.agreement
        exact = mixed.astype(np.float64)
        exact.flat[:: len(exact) + 1] += diagonal
        return exact

    def slopes(self, linear: float, own: float) -> Floats:
        """Return the prior variances `(p,)` of the coefficients of the signs under fair coins; `own` is c.

        Times s_j, they are also the covariances of these coefficients with the responses to the copies.
        """
        products = (share * ratios * np.exp(-np.log1p(ratios).sum()) for share, ratios in self._products(linear, own))
        return np.asarray(sum(products, linear * self.weights))

    def scores(self, linear: float, own: float, dual: Floats, shares: Floats, rates: Floats) -> Floats:
        """Return the scores `(d, p)` of f(s) = sum_i dual_i k(s, s_i) under d mixtures of rates, see `covariances`.

        Shares and rates are `(d, m, p)`.
        """
        result, means = linear * self.weights * (dual @ self.signs), 2 * rates - 1
        for share, ratios in self._products(linear, own):
            alike, row_weights = self._alike(ratios, means, shares)
            alike *= share * dual[:, None]
            towards = (alike.T @ self.signs).reshape(means.shape)
            towards -= alike.sum(axis=0).reshape(*means.shape[:-1], 1) * ratios * means
            result = result + (row_weights * towards).sum(axis=-2)
        return np.asarray(2 * result)

    def covariances(self, linear: float, own: float, mixture: Mixture) -> tuple[Floats, Floats]:
        """Return the covariances `(n, p)` of responses with scores, if k is that of responses, and variances `(p,)`.

        A score is the coefficient of a word in the least-squares regression on endless copies, which keep the words
        independently at the rates of the mixture, with an intercept for each of its rows of rates.
        """
        means = 2 * mixture.rates - 1
        spread = mixture.shares * (1 - means**2)
        spread = spread / np.maximum(spread.sum(axis=0), _TINY)
        together, variances = linear * self.weights * self.signs, linear * self.weights
        for share, ratios in self._products(linear, own):
            alike, row_weights = self._alike(ratios, means, mixture.shares)
            alike *= share
            together += (alike @ row_weights) * self.signs - alike @ (row_weights * ratios * means)
            both = np.log1p(ratios * means[:, None] * means)  # (m, m, p)
            rest = np.exp(both.sum(axis=2, keepdims=True) - np.log1p(ratios).sum() - both)
            variances = variances + share * ratios * (rest * spread[:, None] * spread).sum(axis=(0, 1))
        return 2 * together, 4 * variances

    def _products(self, linear: float, own: float) -> Iterator[tuple[float, Floats]]:
        """Yield the share and the ratios r `(p,)` of the terms of k that are products."""
        yield 1 - linear, np.tanh(_RATE * self.weights)
        if len(self.weights) <= _MOST_SUBSETS:
            yield own, np.ones(len(self.weights))

    def _alike(self, ratios: Floats, means: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return the mean of a product over the copies of each of all rows of rates, for each copy `(n, d m)`.

        And how it changes with each word's sign, as a share of what a score is made of `(d, m, p)`. The mean signs
        under the rates and their shares are `(d, m, p)` or `(m, p)`.
        """
        tilts = ratios * means
        up, down = np.log1p(tilts), np.log1p(-tilts)
        alike = self.signs @ ((up - down) / 2).reshape(-1, means.shape[-1]).T
        alike += (up + down).sum(axis=-1).ravel() / 2 - np.log1p(ratios).sum()
        np.exp(alike, out=alike)
        spread = shares * (1 - means**2)
        total = np.maximum(spread.sum(axis=-2, keepdims=True), _TINY)
        return alike, spread * ratios / (1 - tilts**2) / total
