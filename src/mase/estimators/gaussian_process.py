"""Regression with interactions as a random part: what rows of zeros and ones leave open is what was not asked."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import eigh, solve_triangular
from scipy.special import expit, softmax

from mase.arrays import Floats
from mase.estimators.empirical_bayes import EmpiricalBayes, correlations
from mase.estimators.least_squares import LeastSquares
from mase.regression.anova import Coefficients, Interactions
from mase.regression.covariance import MOST_CORRELATED, no_scatter
from mase.regression.estimate import Estimate
from mase.regression.laws import Laws
from mase.regression.problem import Problem

__all__ = ["GaussianProcess"]

# Shares of the variance of the responses that is linear, a priori uniform, on a grid of their log-odds.
_LOG_ODDS = np.concatenate([np.arange(-4.0, 8.0, 1.0), np.arange(8.0, 27.0, 3.0)])
_LINEAR, _REST = expit(_LOG_ODDS), expit(-_LOG_ODDS)
_LOG_PRIOR = np.log(_LINEAR * _REST * np.gradient(_LOG_ODDS))
# Sums of the weights of all coordinates in the kernel of interactions: the larger, the more coordinates interact at
# once. Without a bound every subset has a value of its own.
_REACHES = (0.5, 1.0, 2.0, 4.0, 8.0, np.inf)
# The reach with which correlations of neighbouring coefficients are compared.
_USUAL = 2.0
_MOST = 1 - 1e-9  # weight of a coordinate
# Variance of rounding, relative to that of the responses, per row.
_ROUNDING = 1e-13
# The same of the kernel of interactions, before it is divided by its variance.
_CANCELLED = 4e-15
# Squares of centred responses below this share of those of the responses are rounding.
_CONSTANT = 1e-24
# The least share of the squares of responses that is not linear.
_LEAST = 1e-15
# Steps of the EM algorithm for the scales.
_STEPS = 8


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """The coefficients to which ever more rows of the design converge, under a random function of the coordinates.

    The function has a linear part and one of interactions of any order, and both are Gaussian. Its posterior given the
    responses is that of a Gaussian process. The scores are the posterior means of the coefficients that least squares
    has on all rows that the laws of the design can draw, each weighted by its probability.

    So what is not linear is no noise here. It cancels where the rows are balanced, as in a block of Hadamard rows and
    its mirror image. Equal rows count once, and if all rows have been asked there is nothing left to estimate.

    Parameters
    ----------
    dof
        Degrees of freedom of the Student t distribution of the linear coefficients: the fewer, the more may some of
        them stand out.

    Notes
    -----
    The kernel of the interactions is a product over coordinates, 1 + rho_j s_j s'_j with s = -1 or 1, without its
    constant and its linear terms: an ANOVA kernel (Durrande et al. 2013). A coordinate has the weight rho_j in
    proportion to the scale of its coefficient, so that strong coordinates interact more. As laws are products as well,
    all integrals are exact (Bayesian quadrature, O'Hagan 1991). The share that is linear and the reach of the
    interactions are averaged over their posterior.

    Of a design without known laws, of rows with unequal weights and of more than 2,000 coordinates, the estimate is
    that of `EmpiricalBayes`, which takes for noise what is not linear.
    """

    dof: float = 4.0
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        EmpiricalBayes(self.dof)  # refuses the same

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its posterior covariance."""
        if problem.unlimited:
            return LeastSquares().fit(problem)
        laws = problem.laws
        if laws is None or np.ptp(problem.weights) > 0 or not 1 < problem.p <= MOST_CORRELATED:
            return EmpiricalBayes(self.dof).fit(problem)
        rows = _Rows.of(problem, laws)
        if rows.total <= _CONSTANT * float(problem.y @ problem.y):
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        scales = np.ones(problem.p)
        priors = (factor @ factor.T for factor in correlations(problem.p))
        prior = max(priors, key=lambda one: _Fit.of(rows, one, scales, (_USUAL,)).evidence)
        alike = found = _Fit.of(rows, prior, scales, _REACHES)
        for step in range(_STEPS):
            squares = (found.mean**2 + np.diag(found.covariance)) / found.prior
            scales = (self.dof + squares * scales) / (self.dof + 1)
            scales /= np.exp(np.log(scales).mean())
            reaches = (alike.reach,) if step < _STEPS - 1 else _REACHES
            found = _Fit.of(rows, prior, scales, reaches)
        # The scales are no more than an estimate: the covariance is averaged with that for equal scales.
        covariance = (alike.covariance + found.covariance) / 2
        known = np.diag(covariance) <= 0  # by rounding: the difference of two large numbers
        covariance[known] = covariance[:, known] = 0.0
        return Estimate(found.mean, covariance, found.used, prior=True)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The different rows, as signs `(u, p)`, and the contrasts `(u, u - 1)` that do not depend on a constant.

    Attributes
    ----------
    signs, contrasts, target
        See above, and the coefficients to be estimated.
    y
        Contrasts of the mean responses of the rows `(u - 1,)`.
    total
        Sum of the squares of y.
    noise
        Variance of the contrasts `(u - 1, u - 1)` by which equal rows differ, relative to that of the responses.
    """

    signs: Floats
    contrasts: Floats
    target: Coefficients
    y: Floats
    total: float
    noise: Floats

    @classmethod
    def of(cls, problem: Problem, laws: Laws) -> Self:
        rows, group, counts = np.unique(problem.z, axis=0, return_inverse=True, return_counts=True)
        group, u = group.ravel(), len(rows)
        means = np.bincount(group, problem.y) / counts
        within = float(np.sum((problem.y - means[group]) ** 2)) / max(problem.n - u, 1)
        noise = np.maximum(within / max(float(problem.y.var()), np.finfo(np.float64).tiny) / counts, u * _ROUNDING)
        contrasts = np.linalg.qr(np.column_stack([np.ones(u), np.eye(u)[:, 1:]]))[0][:, 1:]
        y = contrasts.T @ means
        signs = np.sign(rows - (problem.z.min() + problem.z.max()) / 2)
        spread = (contrasts.T * noise) @ contrasts
        return cls(signs, contrasts, Coefficients.of(laws), y, float(y @ y), spread)


@dataclass(frozen=True, slots=True)
class _Fit:
    """The posterior of the coefficients, over a grid of linear shares and reaches.

    Attributes
    ----------
    mean, covariance
        Of the coefficients `(p,)` and `(p, p)`.
    prior
        Variances `(p,)` of the coefficients without the responses.
    used
        Effective number of coefficients.
    evidence
        The logarithm of the probability of the responses, up to a constant.
    reach
        The most probable reach.
    """

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float
    reach: float

    @classmethod
    def of(cls, rows: _Rows, correlation: Floats, scales: Floats, reaches: tuple[float, ...]) -> Self:
        """Return the posterior for the correlation `(p, p)` and the scales `(p,)` of the linear coefficients."""
        root = np.sqrt(4 * scales / scales.sum())
        prior = root[:, None] * correlation * root
        parts = [_Part.of(rows, prior, scales, reach) for reach in reaches]
        joint = np.array([part.evidence for part in parts])
        shares = softmax(joint)
        means = np.array([part.mean for part in parts])
        mean = np.asarray(shares @ means)
        between = (means - mean) * np.sqrt(shares)[:, None]
        within = sum(share * part.covariance for share, part in zip(shares, parts, strict=True))
        unknown = shares @ [part.prior for part in parts]
        used = float(shares @ [part.used for part in parts])
        evidence, best = float(np.logaddexp.reduce(joint)), reaches[int(joint.argmax())]
        return cls(mean, np.asarray(within + between.T @ between), unknown, used, evidence, best)


@dataclass(frozen=True, slots=True)
class _Kernels:
    """The kernels of the linear part and of the interactions, diagonalised together on the contrasts of the rows.

    Attributes
    ----------
    ratios
        Variance of the linear part in each of the r directions `(r,)`. That of the rest is 1.
    y
        The responses in these directions `(r,)`.
    log_scale
        Logarithm of the determinant of the change to these directions.
    linear, rest
        Covariance of the linear part and of the rest of the coefficients with the directions, each `(r, p)`.
    signs
        The rows in these directions `(r, p)`.
    spread
        Covariance of the rest of the coefficients `(p, p)`.
    """

    ratios: Floats
    y: Floats
    log_scale: float
    linear: Floats
    rest: Floats
    signs: Floats
    spread: Floats

    @classmethod
    def of(cls, rows: _Rows, prior: Floats, weights: Floats) -> Self:
        """Return the kernels for a covariance `(p, p)` of the linear coefficients and weights `(p,)` of coordinates."""
        signs, contrasts, interactions = rows.signs, rows.contrasts, Interactions.of(weights)
        # Where one coordinate has nearly all weight the kernel is a small difference of large numbers.
        rounding = len(signs) * _CANCELLED * float(np.exp(-interactions.log_norm))
        rest = contrasts.T @ interactions.between(signs) @ contrasts + rows.noise + rounding * np.eye(len(rows.y))
        linear = contrasts.T @ (signs @ prior @ signs.T) @ contrasts / 4
        lower = np.linalg.cholesky(rest)
        whitened = solve_triangular(lower, linear, lower=True)
        ratios, vectors = eigh(solve_triangular(lower, whitened.T, lower=True))
        root = solve_triangular(lower, vectors, lower=True, trans="T").T
        to_rows = root @ contrasts.T
        return cls(
            np.maximum(ratios, 0.0),
            root @ rows.y,
            float(np.log(np.diag(lower)).sum()),
            to_rows @ (signs @ prior) / 2,
            to_rows @ interactions.with_coefficients(signs, rows.target),
            to_rows @ signs / 2,
            interactions.of_coefficients(rows.target),
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The same for one reach of the interactions, over a grid of linear shares."""

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float

    @classmethod
    def of(cls, rows: _Rows, prior: Floats, scales: Floats, reach: float) -> Self:
        """Return the posterior for a covariance `(p, p)` of the linear coefficients, under which rows have variance 1.

        Each array over the grid has a row for each linear share.
        """
        weights = np.full(len(scales), _MOST) if np.isinf(reach) else np.minimum(reach * scales / scales.sum(), _MOST)
        kernels = _Kernels.of(rows, prior, weights)
        precision = 1 / (np.outer(_LINEAR, kernels.ratios) + _REST[:, None])
        free = len(kernels.y)
        squares = np.maximum(precision @ kernels.y**2, _LEAST * rows.total)
        likelihood = -0.5 * (free * np.log(squares / rows.total) - np.log(precision).sum(axis=1))
        joint = likelihood - kernels.log_scale + _LOG_PRIOR
        chosen = softmax(joint)
        fitted = precision * kernels.y
        means = _LINEAR[:, None] * (fitted @ kernels.linear) + _REST[:, None] * (fitted @ kernels.rest)
        mean = np.asarray(chosen @ means)
        between = (means - mean) * np.sqrt(chosen)[:, None]
        # The mean of the variance over its posterior, which is inverse gamma.
        scale = chosen * squares / max(free - 2, 1)
        parts = ((_LINEAR, kernels.linear, prior), (_REST, kernels.rest, kernels.spread))
        before = sum((scale @ share) * spread for share, _, spread in parts)
        covariance, used = between.T @ between + before, 0.0
        for share, one, _ in parts:
            used += float(np.sum(((chosen * share) @ precision) @ (one * kernels.signs)))
            for other_share, other, _ in parts:
                covariance -= (one.T * ((scale * share * other_share) @ precision)) @ other
        return cls(mean, covariance, np.diag(before), used, float(np.logaddexp.reduce(joint)))
