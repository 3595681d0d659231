"""The posterior of the coefficients if the response is a Gaussian random function of zeros and ones."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, softmax

from mase.arrays import Floats
from mase.regression.anova import Interactions
from mase.regression.distinct_rows import DistinctRows

__all__ = ["Factored", "Posterior", "Prior"]

# Shares of the variance of the responses that is linear, a priori uniform, on a grid of their log-odds.
_LOG_ODDS = np.concatenate([np.arange(-4.0, 8.0, 1.0), np.arange(8.0, 27.0, 3.0)])
_LINEAR, _REST = expit(_LOG_ODDS), expit(-_LOG_ODDS)
_LOG_PRIOR = np.log(_LINEAR * _REST * np.gradient(_LOG_ODDS))
_MOST = 1 - 1e-9  # weight of a coordinate
# The least share of the squares of responses that is not linear.
_LEAST = 1e-15


@dataclass(frozen=True, slots=True)
class Prior:
    """What is taken for known of the random function.

    Attributes
    ----------
    factor, scales
        The correlation of the linear coefficients is factor factor', `(p, p)` each, and their scales are `(p,)`.
    noise
        The variance of different answers to one row, relative to that of the interactions.
    """

    factor: Floats
    scales: Floats
    noise: float

    @classmethod
    def of(cls, factor: Floats, rows: DistinctRows) -> Self:
        """Return equal scales, and the noise as if all that rows differ by were interactions."""
        return cls(factor, np.ones(len(factor)), rows.within / rows.variance if rows.noisy else 0.0)

    def updated(self, scales: Floats, rows: DistinctRows, rest: float) -> Self:
        """Return the prior with other scales, and the noise that rows have beside interactions of variance `rest`."""
        return replace(self, scales=scales, noise=rows.within / rest if rows.noisy else self.noise)

    @property
    def root(self) -> Floats:
        """A root `(p, p)` of the covariance of the linear coefficients, under which a row has variance 1."""
        return np.asarray(np.sqrt(4 * self.scales / self.scales.sum())[:, None] * self.factor)

    def weights(self, reach: float) -> Floats:
        """Return the weights `(p,)` of the coordinates in the kernel of interactions."""
        if np.isinf(reach):
            return np.full(len(self.scales), _MOST)
        return np.asarray(np.minimum(reach * self.scales / self.scales.sum(), _MOST))


@dataclass(frozen=True, slots=True)
class Factored:
    """The kernels of the responses for one reach of the interactions, diagonalised together on contrasts of the rows.

    Nothing here depends on which coefficients are to be estimated. In d of the directions the linear part varies. In
    the others there are only interactions.

    Attributes
    ----------
    reach, interactions, root
        The sum of the weights of all coordinates, the interactions, and the root of the prior `(p, p)`.
    lower
        Factor of the covariance of the interactions in the different rows `(u, u)`.
    constant
        A constant, divided by this factor `(u,)`.
    ratios
        Variance of the linear part in each direction `(d,)`. That of the rest is 1.
    basis
        The d directions, `(u - 1, d)`.
    log_scale
        Logarithm of the determinant of the change to these directions.
    y, linear, signs
        In the first d directions: the responses `(d,)`, the covariance of the linear part of the coefficients with them
        `(d, p)`, and the rows `(d, p)`.
    other_y
        The responses in the other directions `(u - 1,)`.
    """

    reach: float
    interactions: Interactions
    root: Floats
    lower: Floats
    constant: Floats
    ratios: Floats
    basis: Floats
    log_scale: float
    y: Floats
    linear: Floats
    signs: Floats
    other_y: Floats

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reach: float) -> Self:
        """Return the kernels for a prior and a sum of the weights of coordinates."""
        root, interactions = prior.root, Interactions.of(prior.weights(reach))
        lower = np.asarray(np.linalg.cholesky(rows.kernel(interactions, prior.noise)), dtype=np.float64)
        u = len(lower)
        white = solve_triangular(lower, np.column_stack([np.ones(u), rows.y, rows.signs / 2]), lower=True)
        constant = white[:, 0]
        length = float(np.linalg.norm(constant))
        y, halves = (_on_contrasts(one, constant, length) for one in (white[:, 1:2], white[:, 2:]))
        ratios, basis, linear = _diagonal(halves @ root)
        own = basis.T @ y
        log_scale = float(np.log(np.diag(lower)).sum() + np.log(length) - np.log(u) / 2)
        other_y = (y - basis @ own)[:, 0]
        linear, signs = linear @ root.T, basis.T @ halves
        return cls(
            reach, interactions, root, lower, constant, ratios, basis, log_scale, own[:, 0], linear, signs, other_y
        )

    def white(self, columns: Floats) -> Floats:
        """Return contrasts `(u - 1, k)` of columns `(u, k)`, divided by the factor of the covariance."""
        white = solve_triangular(self.lower, columns, lower=True)
        return _on_contrasts(white, self.constant, float(np.linalg.norm(self.constant)))


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of the coefficients, over a grid of linear shares and reaches.

    Attributes
    ----------
    mean, covariance
        Of the coefficients `(p,)` and `(p, p)`; unless the whole covariance is wanted, there are the variances `(p,)`.
    prior
        Variances `(p,)` of the coefficients without the responses.
    used
        Effective number of coefficients.
    evidence
        The logarithm of the probability of the responses, up to a constant.
    factors
        The kernels of each reach, those of the most probable one first.
    share
        The most probable share that is linear, of the most probable reach.
    rest
        Variance of the interactions.
    """

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float
    factors: tuple[Factored, ...]
    share: float
    rest: float

    @property
    def variances(self) -> Floats:
        """Variances of the coefficients `(p,)`."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    @property
    def reaches(self) -> tuple[float, ...]:
        """The reaches, the most probable one first."""
        return tuple(factored.reach for factored in self.factors)

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reaches: tuple[float, ...], *, whole: bool = True) -> Self:
        """Return the posterior for a prior and some reaches: sums of the weights of all coordinates."""
        return cls.under(rows, tuple(Factored.of(rows, prior, reach) for reach in reaches), whole=whole)

    @classmethod
    def under(cls, rows: DistinctRows, factors: tuple[Factored, ...], *, whole: bool = True) -> Self:
        """Return the posterior of the coefficients of rows whose kernels are known."""
        parts = [_Part.of(rows, factored, whole=whole) for factored in factors]
        joint = np.array([part.evidence for part in parts])
        shares = softmax(joint)
        means = np.array([part.mean for part in parts])
        mean = np.asarray(shares @ means)
        between = (means - mean) * np.sqrt(shares)[:, None]
        within = sum(share * part.covariance for share, part in zip(shares, parts, strict=True))
        unknown = shares @ [part.prior for part in parts]
        used = float(shares @ [part.used for part in parts])
        order = np.argsort(-joint, kind="stable")
        best = tuple(factors[index] for index in order)
        evidence, share = float(np.logaddexp.reduce(joint)), parts[order[0]].share
        rest = float(shares @ [part.rest for part in parts])
        covariance = np.asarray(within + _product(between, between, whole=whole))
        return cls(mean, covariance, unknown, used, evidence, best, share, rest)


def _diagonal(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the eigenvalues `(d,)` and eigenvectors `(u, d)` of columns columns', and columns `(d, p)` in their basis.

    The columns are `(u, p)`, and d is the smaller of u and p.
    """
    if len(columns) <= columns.shape[1]:
        squares, basis = np.linalg.eigh(columns @ columns.T)
        return np.maximum(squares, 0.0), basis, basis.T @ columns
    basis, values, vectors = np.linalg.svd(columns, full_matrices=False)
    return values**2, basis, values[:, None] * vectors


def _product(one: Floats, other: Floats, *, whole: bool) -> Floats:
    """Return one'other `(p, p)` for rows `(n, p)`, or its diagonal `(p,)`."""
    return np.asarray(one.T @ other if whole else (one * other).sum(axis=0))


def _on_contrasts(columns: Floats, constant: Floats, length: float) -> Floats:
    """Return columns `(u, k)` in an orthonormal basis `(u - 1,)` of what is orthogonal to a constant `(u,)`."""
    mirror = constant.copy()
    mirror[0] += np.copysign(length, mirror[0])
    return np.asarray((columns - np.outer(mirror, (2 / (mirror @ mirror)) * (mirror @ columns)))[1:])


@dataclass(frozen=True, slots=True)
class _Part:
    """The same for one reach of the interactions, over a grid of linear shares."""

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float
    share: float
    rest: float

    @classmethod
    def of(cls, rows: DistinctRows, factored: Factored, *, whole: bool) -> Self:
        """Return the posterior of the coefficients. Each array over the grid has a row for each linear share."""
        interactions, y, linear = factored.interactions, factored.y, factored.linear
        white = factored.white(interactions.with_coefficients(rows.signs, rows.target))
        rest = factored.basis.T @ white
        others = white - factored.basis @ rest
        precision, free = 1 / (np.outer(_LINEAR, factored.ratios) + _REST[:, None]), len(white)
        other_squares = float(factored.other_y @ factored.other_y)
        squares = np.maximum(precision @ y**2 + other_squares / _REST, _LEAST * rows.total)
        log_determinant = np.log(precision).sum(axis=1) - (free - len(y)) * np.log(_REST)
        likelihood = -0.5 * (free * np.log(squares / rows.total) - log_determinant)
        joint = likelihood - factored.log_scale + _LOG_PRIOR
        chosen = softmax(joint)
        fitted = precision * y
        means = _LINEAR[:, None] * (fitted @ linear) + _REST[:, None] * (fitted @ rest) + others.T @ factored.other_y
        mean = np.asarray(chosen @ means)
        between = (means - mean) * np.sqrt(chosen)[:, None]
        # The mean of the variance over its posterior, which is inverse gamma.
        scale = chosen * squares / max(free - 2, 1)
        spread = interactions.of_coefficients(rows.target) if whole else interactions.variances(rows.target)
        parts = ((_LINEAR, linear, _product(factored.root.T, factored.root.T, whole=whole)), (_REST, rest, spread))
        before = sum((scale @ share) * spread for share, _, spread in parts)
        covariance = _product(between, between, whole=whole) + before
        covariance -= (scale @ _REST) * _product(others, others, whole=whole)
        used = 0.0
        for share, one, _ in parts:
            used += float(np.sum(((chosen * share) @ precision) @ (one * factored.signs)))
            for other_share, other, _ in parts:
                covariance -= _product(((scale * share * other_share) @ precision)[:, None] * one, other, whole=whole)
        unknown = np.diag(before) if whole else before
        share, left = float(_LINEAR[chosen.argmax()]), float(scale @ _REST)
        return cls(mean, covariance, unknown, used, float(np.logaddexp.reduce(joint)), share, left)
