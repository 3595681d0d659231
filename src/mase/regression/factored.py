"""The kernels of the responses if these are a Gaussian random function of zeros and ones, diagonalised together."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import expit

from mase.arrays import Floats
from mase.regression.anova import InteractionKernel
from mase.regression.covariance import times
from mase.regression.decomposition import decomposed
from mase.regression.distinct_rows import DistinctRows

__all__ = ["LINEAR", "REST", "Factored", "Prior", "Whitened", "averaged"]

# Shares of the variance of the responses that is linear, a priori uniform, on a grid of their log-odds.
_LOG_ODDS = np.concatenate([np.arange(-4.0, 8.0, 1.0), np.arange(8.0, 27.0, 3.0)])
LINEAR, REST = expit(_LOG_ODDS), expit(-_LOG_ODDS)
_LOG_PRIOR = np.log(LINEAR * REST * np.gradient(_LOG_ODDS))
_LOG_REST = np.log(REST)
_MOST = 1 - 1e-9  # weight of a coordinate
# The least share of the squares of responses that is not linear.
_LEAST = 1e-15
# From this ratio of the least to the largest eigenvalue of a Gram matrix on, its eigenvectors are precise enough.
_PRECISE = 1e-6


@dataclass(frozen=True, slots=True)
class Prior:
    """What is taken for known of the random function.

    Attributes
    ----------
    factor, scales
        The correlation of the linear coefficients is factor factor', `(p, p)` each, and their scales are `(p,)`. A
        diagonal factor is given by its diagonal `(p,)`.
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
        """A root `(p, p)` of the covariance of the linear coefficients, under which a row has variance 1.

        A diagonal root is given by its diagonal `(p,)`.
        """
        return np.asarray((np.sqrt(4 * self.scales / self.scales.sum()) * self.factor.T).T)

    def weights(self, reach: float) -> Floats:
        """Return the weights `(p,)` of the coordinates in the kernel of interactions."""
        if np.isinf(reach):
            return np.full(len(self.scales), _MOST)
        return np.asarray(np.minimum(reach * self.scales / self.scales.sum(), _MOST))


@dataclass(frozen=True, slots=True)
class Whitened:
    """Contrasts of the rows, divided by a factor of the covariance of the interactions in them.

    Nothing here depends on how the linear coefficients are correlated.

    Attributes
    ----------
    reach, interactions
        The sum of the weights of all coordinates, and the interactions.
    lower
        Factor of the covariance of the interactions in the different rows `(u, u)`.
    constant
        A constant, divided by this factor `(u,)`.
    y, halves
        The responses `(u - 1,)` and half of the signs `(u - 1, p)`, on contrasts.
    log_scale
        Logarithm of the determinant of the change to these contrasts.
    """

    reach: float
    interactions: InteractionKernel
    lower: Floats
    constant: Floats
    y: Floats
    halves: Floats
    log_scale: float

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reach: float) -> Self:
        """Return the contrasts for the scales and noise of a prior and a sum of the weights of coordinates."""
        interactions = InteractionKernel.of(prior.weights(reach))
        kernel = rows.kernel(interactions, prior.noise)
        lower = _factor(kernel)
        u = len(lower)
        columns = np.vstack([np.ones(u), rows.y, rows.signs.T / 2]).T  # in the order of LAPACK
        white = _divided(lower, columns)
        constant = white[:, 0]
        own = _on_contrasts(white[:, 1:], constant)
        log_scale = float(np.log(np.diag(lower)).sum() + np.log(_norm(constant)) - np.log(u) / 2)
        return cls(reach, interactions, lower, constant, own[:, 0], own[:, 1:], log_scale)

    def white(self, columns: Floats) -> Floats:
        """Return contrasts `(u - 1, k)` of columns `(u, k)`, divided by the factor of the covariance."""
        return _on_contrasts(_divided(self.lower, columns), self.constant)

    def inverse(self) -> Floats:
        """Return contrasts `(u - 1, u)` of the inverse of the factor of the covariance."""
        return _on_contrasts(lapack.dtrtri(self.lower, lower=1)[0], self.constant)


@dataclass(frozen=True, slots=True)
class Factored:
    """The kernels of the responses for one reach of the interactions, diagonalised together on contrasts of the rows.

    Nothing here depends on which coefficients are to be estimated. In d of the directions the linear part varies. In
    the others there are only interactions.

    Attributes
    ----------
    whitened, root
        The contrasts, and the root of the prior `(p, p)`, or its diagonal `(p,)`.
    ratios
        Variance of the linear part in each direction `(d,)`. That of the rest is 1.
    basis
        The d directions, `(u - 1, d)`.
    y, linear, signs
        In the d directions: the responses `(d,)`, the covariance of the linear part of the coefficients with them
        `(d, p)`, and the rows `(d, p)`.
    other_y
        The responses in the other directions `(u - 1,)`.
    """

    whitened: Whitened
    root: Floats
    ratios: Floats
    basis: Floats
    y: Floats
    linear: Floats
    signs: Floats
    other_y: Floats

    @classmethod
    def of(cls, whitened: Whitened, root: Floats) -> Self:
        """Return the kernels for contrasts of rows and the root of a prior `(p, p)`, or its diagonal `(p,)`."""
        ratios, basis, linear = _diagonal(times(whitened.halves, root))
        y = basis.T @ whitened.y
        other_y = whitened.y - basis @ y
        return cls(whitened, root, ratios, basis, y, times(linear, root.T), basis.T @ whitened.halves, other_y)

    @property
    def reach(self) -> float:
        """The sum of the weights of all coordinates in the kernel of interactions."""
        return self.whitened.reach

    def on_grid(self, total: float) -> tuple[Floats, Floats, Floats]:
        """Return, for g linear shares and responses whose squares sum to `total`, what the posterior is made of.

        It is the precision of each direction `(g, d)`, the squares of the responses over their variances `(g,)`, and
        the logarithm of the probability of the responses with each share `(g,)`, up to a constant.
        """
        precision, free = 1 / (np.outer(LINEAR, self.ratios) + REST[:, None]), len(self.other_y)
        squares = np.maximum(precision @ self.y**2 + float(self.other_y @ self.other_y) / REST, _LEAST * total)
        log_determinant = np.log(precision).sum(axis=1) - (free - len(self.y)) * _LOG_REST
        likelihood = -0.5 * (free * np.log(squares / total) - log_determinant)
        return precision, squares, likelihood - self.whitened.log_scale + _LOG_PRIOR

    def evidence(self, total: float) -> float:
        """Return the logarithm of the probability of responses whose squares sum to `total`, up to a constant."""
        return averaged(self.on_grid(total)[2])[1]


def averaged(logs: Floats) -> tuple[Floats, float]:
    """Return the probabilities `(n,)` whose logarithms are given up to a constant, and the logarithm of their sum."""
    largest = logs.max()
    found = np.exp(logs - largest)
    total = found.sum()
    return found / total, float(largest + np.log(total))


def _factor(kernel: Floats) -> Floats:
    """Return the Cholesky factor `(u, u)` of a kernel, which is overwritten.

    LAPACK is called directly: for few rows the checks of SciPy take longer than the work.
    """
    lower, info = lapack.dpotrf(kernel.T, lower=1, overwrite_a=1)  # as symmetric as in the order that LAPACK reads
    if info:
        raise np.linalg.LinAlgError(f"the kernel of {len(kernel)} rows is not positive definite")
    return np.asarray(lower)


def _divided(lower: Floats, columns: Floats) -> Floats:
    """Return columns `(u, k)`, divided by a lower triangular factor `(u, u)`."""
    return np.asarray(lapack.dtrtrs(lower, columns, lower=1)[0])


def _norm(values: Floats) -> float:
    return math.sqrt(values @ values)


def _diagonal(columns: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the eigenvalues `(d,)` and eigenvectors `(u, d)` of columns columns', and columns `(d, p)` in their basis.

    The columns are `(u, p)`, and d is the smaller of u and p.
    """
    if len(columns) <= columns.shape[1]:
        squares, basis = np.linalg.eigh(columns @ columns.T)
        return np.maximum(squares, 0.0), basis, basis.T @ columns
    squares, vectors = np.linalg.eigh(columns.T @ columns)
    if squares[0] > _PRECISE * squares[-1]:
        values = np.sqrt(squares)
        return squares, columns @ (vectors / values), values[:, None] * vectors.T
    basis, values, vectors = decomposed(columns)
    return values**2, basis, values[:, None] * vectors


def _on_contrasts(columns: Floats, constant: Floats) -> Floats:
    """Return columns `(u, k)` in an orthonormal basis `(u - 1,)` of what is orthogonal to a constant `(u,)`.

    The columns are in the order of LAPACK, and are overwritten.
    """
    mirror = constant.copy()
    mirror[0] += math.copysign(_norm(constant), mirror[0])
    return np.asarray(blas.dger(-2 / (mirror @ mirror), mirror, mirror @ columns, a=columns, overwrite_a=1)[1:])
