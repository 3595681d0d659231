"""Regression with a prior that is learnt from the responses: for about as many rows as words, or fewer."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, softmax

from mase.arrays import Floats
from mase.errors import OptionError
from mase.estimators.linear import LeastSquares
from mase.solve.distributions import MOST_CORRELATED, no_scatter, product, scatter, times, widening
from mase.solve.kernel import decomposed
from mase.solve.problem import Estimate, Estimator, Problem

# Shares of the variance of the responses that the coordinates explain, a priori uniform, on a grid of their log-odds.
_LOG_ODDS = np.concatenate([np.arange(-4.0, 6.0, 0.5), np.arange(6.0, 26.0, 2.0)])
# Their density, times the width of a point of the grid.
_LOG_PRIOR = np.log(expit(_LOG_ODDS) * expit(-_LOG_ODDS) * np.gradient(_LOG_ODDS))
# Correlations of neighbouring coefficients that are compared, besides none: the share and the range of the correlation.
_SHARES, _RANGES = (0.3, 0.6, 0.9), (3.0, 8.0)
# Squares of centred responses below this share of those of the responses are rounding.
_ROUNDING = 1e-24
# Squares of rows that do not vary.
_NONE = 1e-200
# Products of rows below this share of the largest are rounding.
_SMALLEST = 1e-12
# Steps of the EM algorithm: more change the scores by less than their errors.
_STEPS = 8


@dataclass(frozen=True, slots=True)
class EmpiricalBayes(Estimator):
    """The posterior mean of gamma under y = a + z.gamma + e, for a prior that fits the responses.

    Coefficients have a Student t prior with `dof` degrees of freedom: most are small and some are large. Neighbours in
    reading order may be correlated, as the words of a phrase are, if that makes the responses more probable. The
    posterior is averaged over the share of the variance that the coordinates explain. With more rows the prior counts
    for less, and the coefficients converge to those of least squares.

    Notes
    -----
    The scales of the t distribution are estimated by EM, with a Gaussian posterior given the scales (Tipping 2001). The
    covariance is that of the posterior, which includes the deviation of the model from linearity, as noise, and what
    the prior shrinks. EM takes the scales for known. So the covariance is averaged with that for equal scales, and
    widened such that 1.96 standard errors make an interval of Student's t distribution. Intervals are meant to cover
    95 % of all coefficients of a text together. Of coefficients far from 0, which shrink most, they cover fewer.
    """

    dof: float = 4.0

    def __post_init__(self) -> None:
        if not 0 < self.dof < np.inf:
            raise OptionError(f"dof is {self.dof!r}, expected a finite number > 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its posterior covariance."""
        if problem.unlimited:
            return LeastSquares().fit(problem)
        rows = _Rows.of(problem)
        if rows.total <= _ROUNDING * float(problem.y @ problem.y):
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0)
        alike, result = self._estimates(rows)
        return replace(result, covariance=widening(rows.free) * (alike.covariance + result.covariance) / 2)

    def _estimates(self, rows: "_Rows") -> tuple[Estimate, Estimate]:
        """Return the estimates for equal scales of the prior and for those that steps of EM find."""
        scales = np.ones(rows.z.shape[1])
        compared = (_Posterior.of(rows, factor) for factor in correlations(len(scales)))
        posterior = alike = max(compared, key=lambda item: item.evidence)
        for _ in range(_STEPS):
            scales = (self.dof + posterior.squares() * scales) / (self.dof + 1)
            scales /= np.exp(np.log(scales).mean())
            posterior = _Posterior.of(rows, (np.sqrt(scales) * alike.factor.T).T)
        return alike.estimate(rows), posterior.estimate(rows)


def correlations(p: int) -> Iterator[Floats]:
    """Yield a factor L `(p, p)` of each correlation matrix LL' that is compared: of I, its diagonal `(p,)`.

    For more than `MOST_CORRELATED` coefficients there is only I.
    """
    yield np.ones(p)
    if p > MOST_CORRELATED:
        return
    distances = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    for share in _SHARES:
        for reach in _RANGES:
            yield np.asarray(np.linalg.cholesky((1 - share) * np.eye(p) + share * np.exp(-distances / reach)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Centred rows that are reduced to at most p: z `(r, p)` and y `(r,)`.

    Attributes
    ----------
    whole
        z `(n, p)` of all rows.
    rest
        The squares of the responses that no coefficients explain.
    total
        The squares of all responses.
    free
        The number of independent responses.
    """

    z: Floats
    y: Floats
    whole: Floats
    rest: float
    total: float
    free: int

    @classmethod
    def of(cls, problem: Problem) -> "_Rows":
        whole, y = problem.centred()
        z, total, rest = whole, float(y @ y), 0.0
        if problem.n > problem.p:
            q, z = np.linalg.qr(whole)
            within = q @ (q.T @ y)
            y, rest = q.T @ y, float(np.sum((y - within) ** 2))
        return cls(z, y, whole, rest, total, problem.n - problem.n_intercepts)


@dataclass(frozen=True, slots=True)
class _Posterior:
    """The posterior of gamma = Lg, where g has independent entries of one variance: lambda times that of the noise.

    It is a mixture over a grid of lambda, in the r directions of g in which the rows vary.

    Attributes
    ----------
    factor, directions
        L `(p, p)`, or its diagonal `(p,)`, and the directions V `(p, r)`.
    weights
        The probability of each lambda `(m,)`.
    scale
        The prior variance of g, the mean over lambda.
    means, variances
        Mean and variance of V'g for each lambda, each `(m, r)`.
    used
        The share of each direction that the rows determine `(r,)`.
    row_weights
        The same, divided by the squares of the rows in that direction `(r,)`.
    evidence
        The logarithm of the probability of the responses, up to a constant.
    """

    factor: Floats
    directions: Floats
    weights: Floats
    scale: float
    means: Floats
    variances: Floats
    used: Floats
    row_weights: Floats
    evidence: float

    @classmethod
    def of(cls, rows: _Rows, factor: Floats) -> "_Posterior":
        u, s, vt = _decomposed(times(rows.z, factor))
        projected = u.T @ rows.y
        rest = rows.rest + max(float(rows.y @ rows.y - projected @ projected), 0.0)
        ratios = np.exp(_LOG_ODDS)[:, None] * rows.free / max(float(s @ s), _NONE)
        spread = 1 + ratios * s**2
        noises = np.maximum(rest + (projected**2 / spread).sum(axis=1), 1e-15 * rows.total) / rows.free
        likelihood = -0.5 * (rows.free * np.log(noises / rows.total) + np.log(spread).sum(axis=1))
        joint = likelihood + _LOG_PRIOR
        # The mean of the noise variance over its posterior, which is inverse gamma.
        noises *= rows.free / max(rows.free - 2, 1)
        weights, variances = softmax(joint), noises[:, None] * ratios
        return cls(
            factor,
            vt.T,
            weights,
            float(weights @ variances[:, 0]),
            ratios * s * projected / spread,
            variances / spread,
            weights @ (1 - 1 / spread),
            weights @ (ratios / spread),
            float(np.logaddexp.reduce(joint)),
        )

    def estimate(self, rows: _Rows) -> Estimate:
        """Return the mean of gamma `(p,)` and its covariance; the leverages take the prior as given."""
        to_gamma, mean = self._to_gamma, self.weights @ self.means
        covariance = scatter((to_gamma @ self._root(mean)).T) + self._undetermined(to_gamma)
        leverages = (rows.whole @ to_gamma) ** 2 @ self.row_weights
        return Estimate(to_gamma @ mean, covariance, float(self.used.sum()), prior=True, leverages=leverages)

    def squares(self) -> Floats:
        """Return the posterior mean of gamma^2 `(p,)`, relative to its prior variance."""
        to_gamma, mean = self._to_gamma, self.weights @ self.means
        prior, determined = (np.square(root).reshape(len(root), -1).sum(axis=1) for root in (self.factor, to_gamma))
        within = np.square(to_gamma) @ (self.weights @ self.variances) + self.scale * (prior - determined)
        within += np.square(to_gamma @ self._between(mean).T).sum(axis=1)
        return np.asarray(((to_gamma @ mean) ** 2 + within) / (self.scale * prior))

    @property
    def _to_gamma(self) -> Floats:
        """LV `(p, r)`."""
        return times(self.directions.T, self.factor.T).T

    def _root(self, mean: Floats) -> Floats:
        """Return a factor `(r, r + m)` of the covariance of V'g: within each lambda, and of the means over lambda."""
        return np.concatenate([np.diag(np.sqrt(self.weights @ self.variances)), self._between(mean).T], axis=1)

    def _between(self, mean: Floats) -> Floats:
        """Return a factor `(m, r)` of the covariance of the means of V'g over lambda."""
        return np.sqrt(self.weights)[:, None] * (self.means - mean)

    def _undetermined(self, to_gamma: Floats) -> Floats:
        """Return the prior covariance of gamma in the directions in which no row varies."""
        if self.directions.shape[1] == len(self.factor):
            return no_scatter(len(self.factor))
        prior = product(self.factor, whole=len(self.factor) <= MOST_CORRELATED)
        return np.asarray(self.scale * (prior - scatter(to_gamma.T)))


def _decomposed(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the singular value decomposition of rows `(n, p)`: u `(n, r)`, s `(r,)` and v' `(r, p)`.

    That of few rows is from the products of all pairs, which takes a fraction of the time and leaves out directions in
    which the rows do not vary.
    """
    if 2 * len(rows) > rows.shape[1]:
        return decomposed(rows)
    squares, u = np.linalg.eigh(rows @ rows.T)
    varying = squares > _SMALLEST * squares[-1]
    u, s = u[:, varying], np.sqrt(squares[varying])
    return u, s, (u / s).T @ rows
