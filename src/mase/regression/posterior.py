"""The posterior of the coefficients if the response is a Gaussian random function of zeros and ones."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, softmax

from mase.arrays import Floats
from mase.regression.anova import Interactions
from mase.regression.distinct_rows import DistinctRows

__all__ = ["Posterior", "Prior", "on_contrasts"]

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
    reaches
        The reaches, the most probable one first.
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
    reaches: tuple[float, ...]
    share: float
    rest: float

    @property
    def variances(self) -> Floats:
        """Variances of the coefficients `(p,)`."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reaches: tuple[float, ...], *, whole: bool = True) -> Self:
        """Return the posterior for a prior and some reaches: sums of the weights of all coordinates."""
        parts = [_Part.of(rows, prior, reach, whole=whole) for reach in reaches]
        joint = np.array([part.evidence for part in parts])
        shares = softmax(joint)
        means = np.array([part.mean for part in parts])
        mean = np.asarray(shares @ means)
        between = (means - mean) * np.sqrt(shares)[:, None]
        within = sum(share * part.covariance for share, part in zip(shares, parts, strict=True))
        unknown = shares @ [part.prior for part in parts]
        used = float(shares @ [part.used for part in parts])
        order = np.argsort(-joint, kind="stable")
        best = tuple(reaches[index] for index in order)
        evidence, share = float(np.logaddexp.reduce(joint)), parts[order[0]].share
        rest = float(shares @ [part.rest for part in parts])
        covariance = np.asarray(within + _product(between, between, whole=whole))
        return cls(mean, covariance, unknown, used, evidence, best, share, rest)


@dataclass(frozen=True, slots=True)
class _Kernels:
    """The kernels of the linear part and of the interactions, diagonalised together on contrasts of the rows.

    In d of the directions the linear part varies. In the others, `free - d` of them, there are only interactions.

    Attributes
    ----------
    ratios
        Variance of the linear part in each direction `(d,)`. That of the rest is 1.
    free
        Number of all directions.
    log_scale
        Logarithm of the determinant of the change to these directions.
    y, linear, rest, signs
        In the first d directions: the responses `(d,)`, the covariance of the linear part and of the rest of the
        coefficients with them `(d, p)`, and the rows `(d, p)`.
    other_y, other_rest
        In the other directions: the sum of the squares of the responses, and their products with the covariance of the
        rest of the coefficients `(p,)`.
    other_squares
        In the other directions: the products of the covariances of the rest of the coefficients `(p, p)`.
    spread
        Covariance of the rest of the coefficients `(p, p)`. Of both there are only the diagonals `(p,)` unless the
        whole matrices are wanted.
    """

    ratios: Floats
    free: int
    log_scale: float
    y: Floats
    linear: Floats
    rest: Floats
    signs: Floats
    other_y: float
    other_rest: Floats
    other_squares: Floats
    spread: Floats

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reach: float, *, whole: bool) -> Self:
        """Return the kernels for a prior and a sum of the weights of coordinates."""
        signs, root, interactions = rows.signs, prior.root, Interactions.of(prior.weights(reach))
        u, p = signs.shape
        lower = np.linalg.cholesky(rows.kernel(interactions, prior.noise))
        columns = np.column_stack([np.ones(u), rows.y, signs / 2, interactions.with_coefficients(signs, rows.target)])
        constant, *white = np.split(solve_triangular(lower, columns, lower=True), [1, 2, 2 + p], axis=1)
        length = float(np.linalg.norm(constant))
        y, halves, rest = (on_contrasts(one, constant[:, 0], length) for one in white)
        ratios, basis, linear = _diagonal(halves @ root)
        own_y, own_rest = basis.T @ y, basis.T @ rest
        other_y, other_rest = y - basis @ own_y, rest - basis @ own_rest
        return cls(
            ratios,
            u - 1,
            float(np.log(np.diag(lower)).sum() + np.log(length) - np.log(u) / 2),
            own_y[:, 0],
            linear @ root.T,
            own_rest,
            basis.T @ halves,
            float(np.sum(other_y**2)),
            (other_rest.T @ other_y)[:, 0],
            _product(other_rest, other_rest, whole=whole),
            interactions.of_coefficients(rows.target) if whole else interactions.variances(rows.target),
        )


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


def on_contrasts(columns: Floats, constant: Floats, length: float) -> Floats:
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
    def of(cls, rows: DistinctRows, prior: Prior, reach: float, *, whole: bool) -> Self:
        """Return the posterior for a prior. Each array over the grid has a row for each linear share."""
        root, kernels = prior.root, _Kernels.of(rows, prior, reach, whole=whole)
        precision, free = 1 / (np.outer(_LINEAR, kernels.ratios) + _REST[:, None]), kernels.free
        squares = np.maximum(precision @ kernels.y**2 + kernels.other_y / _REST, _LEAST * rows.total)
        log_determinant = np.log(precision).sum(axis=1) - (free - len(kernels.y)) * np.log(_REST)
        likelihood = -0.5 * (free * np.log(squares / rows.total) - log_determinant)
        joint = likelihood - kernels.log_scale + _LOG_PRIOR
        chosen = softmax(joint)
        fitted = precision * kernels.y
        means = _LINEAR[:, None] * (fitted @ kernels.linear) + _REST[:, None] * (fitted @ kernels.rest)
        means += kernels.other_rest
        mean = np.asarray(chosen @ means)
        between = (means - mean) * np.sqrt(chosen)[:, None]
        # The mean of the variance over its posterior, which is inverse gamma.
        scale = chosen * squares / max(free - 2, 1)
        parts = (
            (_LINEAR, kernels.linear, _product(root.T, root.T, whole=whole)),
            (_REST, kernels.rest, kernels.spread),
        )
        before = sum((scale @ share) * spread for share, _, spread in parts)
        covariance = _product(between, between, whole=whole) + before - (scale @ _REST) * kernels.other_squares
        used = 0.0
        for share, one, _ in parts:
            used += float(np.sum(((chosen * share) @ precision) @ (one * kernels.signs)))
            for other_share, other, _ in parts:
                covariance -= _product(((scale * share * other_share) @ precision)[:, None] * one, other, whole=whole)
        share, rest = float(_LINEAR[chosen.argmax()]), float(scale @ _REST)
        unknown = np.diag(before) if whole else before
        return cls(mean, covariance, unknown, used, float(np.logaddexp.reduce(joint)), share, rest)
