"""Covariance of the perturbation, `Sigma` of the paper: a scalar, a diagonal or a full positive-definite matrix."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.special import ndtri, stdtrit

from mase.arrays import Floats, Ints, as_floats, equal_fields
from mase.errors import OptionError, ShapeError
from mase.scalars import is_real

__all__ = [
    "MOST_CORRELATED",
    "Covariance",
    "covariance",
    "no_scatter",
    "product",
    "real_sigma",
    "scatter",
    "times",
    "widening",
]

# Beyond this number of coordinates only variances are stored: the memory of a full matrix grows quadratically.
MOST_CORRELATED = 2_000
# The share of a distribution below the upper end of its 95 % interval.
_LEVEL = 0.975


@dataclass(frozen=True, slots=True)
class Covariance:
    """Sigma `(p, p)`: `deviations` (p,) if it is diagonal, else its lower Cholesky factor `factor` (p, p).

    Build one with `covariance`.
    """

    deviations: Floats
    factor: Floats | None = None

    __eq__ = equal_fields

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.deviations)

    @property
    def is_diagonal(self) -> bool:
        """Whether the coordinates are uncorrelated."""
        return self.factor is None

    def matrix(self) -> Floats:
        """Return Sigma `(p, p)`."""
        return np.diag(self.deviations**2) if self.factor is None else self.factor @ self.factor.T

    def color(self, noise: Floats) -> Floats:
        """Return rows of covariance Sigma `(n, p)` from rows of unit covariance `(n, p)`."""
        return noise * self.deviations if self.factor is None else noise @ self.factor.T

    def whiten(self, rows: Floats) -> Floats:
        """Return rows of unit covariance `(n, p)` from rows of covariance Sigma `(n, p)`."""
        if self.factor is None:
            return rows / self.deviations
        return np.asarray(np.linalg.solve(self.factor, rows.T).T)

    def solve(self, vectors: Floats) -> Floats:
        """Return Sigma^-1 v for the rows v of `(m, p)`, or for one vector `(p,)`."""
        if self.factor is None:
            return vectors / self.deviations**2
        return np.asarray(cho_solve((self.factor, True), vectors.T).T)


def scatter(rows: Floats) -> Floats:
    """Return sum_i r_i r_i' `(p, p)` of rows `(n, p)`.

    With more than `MOST_CORRELATED` coordinates, return only its diagonal `(p,)`.
    """
    if rows.shape[1] <= MOST_CORRELATED:
        return np.asarray(rows.T @ rows)
    return np.asarray(np.einsum("np,np->p", rows, rows))


def times(rows: Floats, factor: Floats) -> Floats:
    """Return the product of rows `(n, p)` and a factor `(p, p)`, or the diagonal `(p,)` of one."""
    return rows * factor if factor.ndim == 1 else rows @ factor


def product(factor: Floats, *, whole: bool) -> Floats:
    """Return LL' `(p, p)` of a factor L `(p, p)` or its diagonal `(p,)`; if not `whole`, only its diagonal `(p,)`."""
    if factor.ndim == 1:
        return np.diag(factor**2) if whole else factor**2
    return np.asarray(factor @ factor.T if whole else np.square(factor).sum(axis=1))


def no_scatter(p: int) -> Floats:
    """Return the covariance of p coefficients without sampling error: zeros in the shape of `scatter`."""
    return np.zeros((p, p) if p <= MOST_CORRELATED else p)


def covariance(sigma: Any, scale: Floats) -> Covariance:
    """Return Sigma of the p active coordinates, from a noise level.

    Parameters
    ----------
    sigma
        The noise level, one of: a number, the standard deviation of every coordinate (0.1 in the paper); an array
        `(p,)` of standard deviations; a covariance matrix `(p, p)`, symmetric and positive definite; or a function of p
        that returns one of these. An array for all coordinates is restricted to the active ones.
    scale
        Unit of each coordinate, from the space. It is 1 for the relative scaling of NLGP, and 0 for an inactive
        coordinate, which has no effect on the input.

    Raises
    ------
    OptionError
        If sigma has no real numbers, or is not positive (definite) or not symmetric.
    ShapeError
        If its size is not p.

    Notes
    -----
    The paper does not say whether 0.1 is a variance or a standard deviation. The authors' earlier code squares it, so
    it is a standard deviation here (Definition NLGP).
    """
    active = np.flatnonzero(scale)
    p, values = len(active), _restricted(sigma(len(active)) if callable(sigma) else sigma, active, len(scale))
    scale = scale[active]
    if values.ndim > 2 or (values.ndim > 0 and values.shape != (p,) * values.ndim):
        raise ShapeError(f"sigma has shape {values.shape}, expected a number, ({p},) or ({p}, {p}) for {p} coordinates")
    if values.ndim < 2:
        deviations = np.broadcast_to(values, (p,)) * scale
        if not (np.isfinite(deviations).all() and (deviations > 0).all()):
            raise OptionError(f"sigma is {sigma!r}, expected finite standard deviations > 0")
        return Covariance(np.ascontiguousarray(deviations))
    matrix = as_floats(values, (p, p), "sigma") * np.outer(scale, scale)
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0):
        raise OptionError("sigma is not symmetric, expected a covariance matrix; pass (sigma + sigma.T) / 2")
    factor = _factor(matrix)  # first: it refuses negative variances, which have no root
    return Covariance(np.sqrt(np.diag(matrix)), factor)


def real_sigma(sigma: Any) -> Floats:
    """Return a noise level that is not a function as an array, of the shape it has.

    Raises
    ------
    OptionError
        If it is no array of real numbers.
    """
    try:
        values = np.asarray(sigma)
    except (TypeError, ValueError):  # such as a list of lists of different lengths
        values = np.empty(0, dtype=np.object_)
    objects = values.dtype.kind == "O" and values.size > 0 and all(map(is_real, values.flat))
    if values.dtype.kind not in "fiu" and not objects:
        raise OptionError(
            f"sigma is {sigma!r:.60}, expected a standard deviation, one per coordinate, a covariance matrix, or a "
            "function of the number of coordinates that returns one of these"
        )
    return values.astype(np.float64)


def widening(freedom: float) -> float:
    """Return the factor of a variance with which 1.96 standard errors make an interval of Student's t distribution."""
    return float(stdtrit(freedom, _LEVEL) / ndtri(_LEVEL)) ** 2


def _restricted(sigma: Any, active: Ints, p: int) -> Floats:
    """Return sigma as an array; an array for all p coordinates is restricted to the active ones `(a,)`."""
    values = real_sigma(sigma)
    if values.shape == (p,):
        return values[active]
    return values[np.ix_(active, active)] if values.shape == (p, p) else values


def _factor(matrix: Floats) -> Floats:
    """Return the lower Cholesky factor `(p, p)` of a covariance matrix."""
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(matrix)[0])
        raise OptionError(
            f"sigma has smallest eigenvalue {smallest:.3g}, expected a positive-definite matrix; add a small multiple "
            "of the identity"
        ) from None
