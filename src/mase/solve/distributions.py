"""Distributions of rows: mixtures of mask rates, and covariances of Gaussian weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.linalg import block_diag, cho_solve
from scipy.special import ndtri, stdtrit

from mase.arrays import Bools, Floats, Ints, as_floats, equal_fields
from mase.defaults import is_real
from mase.errors import OptionError, ShapeError


@dataclass(frozen=True, slots=True)
class Components:
    """The m components of a mixture of products of Bernoulli distributions, from which rows of zeros and ones are
    drawn.

    Attributes
    ----------
    shares
        `(m, n)`: the share of each row's weight that is due to each component. Columns sum to 1.
    rates
        `(m, p)`: the probability that a coordinate is 1.
    independent
        Whether rows are drawn from their component, and different coordinates and rows are independent. Those of a
        Hadamard matrix are not.
    """

    shares: Floats
    rates: Floats
    independent: bool = True

    __eq__ = equal_fields

    @classmethod
    def one(cls, n: int, rates: Floats, *, independent: bool = True) -> Self:
        """Return the component of n rows that have the same rates `(p,)`."""
        return cls(np.ones((1, n)), np.asarray(rates)[None], independent)

    @property
    def groups(self) -> Ints | None:
        """The intercept of each row `(n,)`; None if there is only one."""
        return None if len(self.shares) == 1 else self.shares.argmax(axis=0)

    def mixture(self) -> "Mixture":
        """Return the mixture of the components in which they have their shares of all rows, for every coordinate."""
        return Mixture(np.repeat(self.shares.mean(axis=1)[:, None], self.rates.shape[1], axis=1), self.rates)

    def rows(self, chosen: slice | Bools | Ints) -> Self:
        """Return the components of some of the rows, without those that none of them is due to."""
        shares = self.shares[:, chosen]
        used = shares.any(axis=1)
        return replace(self, shares=shares[used], rates=self.rates[used])

    def joined(self, more: "Components") -> Self:
        """Return the components of these rows followed by those of others."""
        return self._with(more, np.asarray(block_diag(self.shares, more.shares)))

    def mixed(self, weights: Floats, other: "Components", weights_of_other: Floats) -> Self:
        """Return the components of the same rows, with weights `(n,)` under each, whose sum is their weight."""
        shares = np.concatenate([self.shares * weights, other.shares * weights_of_other])
        return self._with(other, shares / (weights + weights_of_other))

    def _with(self, other: "Components", shares: Floats) -> Self:
        rates = np.concatenate([self.rates, other.rates])
        return replace(self, shares=shares, rates=rates, independent=self.independent and other.independent)


@dataclass(frozen=True, slots=True)
class Mixture:
    """m components with mixing shares for each coordinate: its score is a mean over the components by these shares.

    Attributes
    ----------
    shares
        `(m, p)`: the share of each component in what the score of a coordinate stands for. Columns sum to 1.
    rates
        `(m, p)`: the probability that a coordinate is 1.
    """

    shares: Floats
    rates: Floats

    __eq__ = equal_fields

    @property
    def components(self) -> Components:
        """The components with their mean shares, as those of one row."""
        return Components(self.shares.mean(axis=1)[:, None], self.rates)

    def row_weights(self, rows: Floats) -> Floats:
        """Return what the response to each of all rows of zeros and ones `(2^p, p)` adds to coefficients `(2^p, p)`.

        They are those of least squares on rows of the components, each with an intercept of its own. A coordinate that
        never varies has the coefficient 0.
        """
        result, variances = np.zeros(rows.shape), np.zeros(rows.shape[1])
        for shares, rates in zip(self.shares, self.rates, strict=True):
            chances = np.where(rows == 1, rates, 1 - rates).prod(axis=1)
            result += shares * chances[:, None] * (rows - rates)
            variances += shares * rates * (1 - rates)
        return np.divide(result, variances, out=np.zeros_like(result), where=variances > 0)

    def towards(self, other: "Mixture", part: float) -> "Mixture":
        """Return the mixture that is this one but for a part of the way to another one."""
        shares, rates = self.shares, self.rates
        return Mixture(shares + part * (other.shares - shares), rates + part * (other.rates - rates))


# Returns the mixture that each of w scores `(w, p)` stands for.
TargetMixture = Callable[[Floats], Sequence[Mixture]]

# Steps to a mixture that follows from its own scores.
_STEPS = 4


def self_consistent(
    first: Mixture, mixture_of: Callable[[Floats], Mixture], scores_under: Callable[[Mixture], Floats]
) -> Mixture:
    """Return a mixture that follows from the scores `(p,)` under it, found from a first mixture on.

    The mixture of a step is the mean of those that followed in all steps before (fictitious play, Brown 1951). So where
    two words change places with each step, both get the mean. Several mixtures may follow from their own scores.
    From that of equal scores on, words that may be exchanged keep equal ones.
    """
    mixture = first
    for step in range(1, _STEPS + 1):
        mixture = mixture.towards(mixture_of(scores_under(mixture)), 1 / step)
    return mixture


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
    """Return a noise level that is not a function as an array, of the shape it has."""
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


def centred(values: Floats, weights: Floats, groups: Ints | None = None) -> Floats:
    """Return values `(n,)` or `(n, p)` of rows minus their weighted means in each group `(n,)`, by default of all."""
    if groups is None:
        return np.asarray(values - (weights / weights.sum()) @ values)
    numbers, index = np.unique(groups, return_inverse=True)
    shares = np.equal.outer(np.arange(len(numbers)), index) * weights
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(values - (shares @ values)[index])


def on_means(weights: Floats, groups: Ints | None = None) -> Floats:
    """Return the leverage `(n,)` of each row on the mean of its group: its share of the weights `(n,)`."""
    if groups is None:
        return np.asarray(weights / weights.sum())
    return np.asarray(weights / np.bincount(groups, weights)[groups])
