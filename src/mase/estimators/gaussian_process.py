"""Regression with interactions as a random part: what rows of zeros and ones leave open is what was not asked."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import expit, softmax

from mase.arrays import Floats, Ints
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
# Steps of the EM algorithm for the scales, and those of a rough estimate.
_STEPS, _ROUGH_STEPS = 8, 1
# Of more rows, so many tune the prior.
_MOST_TUNED = 128
# More than twice as many rows are split into blocks of at least so many.
_BLOCK = 1_000


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

    Of more than 128 rows, a random 128 tune the prior, and a last step of EM is on all rows. From 2,000 rows on, the
    estimate is a mean over random blocks of 1,000 to 2,000 rows, so that time grows in proportion to the rows. Each
    chain of the design has laws, and so coefficients, of its own: the covariance has the variance of their mean.

    Of a design without known laws, of rows with unequal weights and of more than 2,000 coordinates, the estimate is
    that of `EmpiricalBayes`, which takes for noise what is not linear. Of all rows that there are, it is that of
    `LeastSquares`.
    """

    dof: float = 4.0
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        EmpiricalBayes(self.dof)  # refuses the same

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its posterior covariance."""
        other = self._other(problem)
        if other is not None:
            return other.fit(problem)
        assert problem.laws is not None
        shuffled, n_blocks = np.random.default_rng(0).permutation(problem.n), max(1, problem.n // _BLOCK)
        chosen = [np.sort(block) for block in np.array_split(shuffled, n_blocks)]
        blocks = [_Rows.of(problem.rows(block), problem.laws) for block in chosen]
        if all(rows.constant for rows in blocks):
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        few = _Rows.of(problem.rows(np.sort(shuffled[:_MOST_TUNED])), problem.laws)
        few = next(rows for rows in (few, *blocks) if not rows.constant)
        prior, alike, found = self._tuned(few)
        pairs = [(alike, found)]
        if problem.n > _MOST_TUNED:
            prior = self._updated(prior, _Fit.of(blocks[0], prior, found.reaches[:1]))
            equal, first, best = _Prior.of(prior.factor), alike.reaches[:1], found.reaches[:2]
            pairs = [(_Fit.of(rows, equal, first), _Fit.of(rows, prior, best)) for rows in blocks]
        # The scales are no more than an estimate: the covariance is averaged with that for equal scales.
        unsure, found = min(1.0, _MOST_TUNED / problem.n) / 2, pairs[0][1]
        spreads = [unsure * alike.covariance + (1 - unsure) * own.covariance for alike, own in pairs]
        mean, covariance = (np.mean(some, axis=0) for some in ([own.mean for _, own in pairs], spreads))
        covariance /= n_blocks
        if problem.chains is not None:
            covariance[np.diag_indices(problem.p)] += _between(problem, problem.chains, blocks[0], prior, found)
        known = np.diag(covariance) <= 0  # by rounding: the difference of two large numbers
        covariance[known] = covariance[:, known] = 0.0
        changes = np.empty((problem.n, problem.p))
        for block, rows in zip(chosen, blocks, strict=True):
            changes[block] = _changes(rows, prior, found) / n_blocks
        return Estimate(mean, covariance, float(np.mean([own.used for _, own in pairs])), prior=True, changes=changes)

    def rough(self, problem: Problem) -> Estimate:
        """Return a cheaper estimate, from equal scales and one step of EM, without correlations."""
        other = self._other(problem)
        if other is not None:
            return other.fit(problem)
        assert problem.laws is not None
        rows = _Rows.of(problem, problem.laws)
        if rows.constant:
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        prior = _Prior.of(np.eye(problem.p))
        for _ in range(_ROUGH_STEPS):
            prior = self._updated(prior, _Fit.of(rows, prior, (_USUAL,)))
        found = _Fit.of(rows, prior, (_USUAL,))
        return Estimate(found.mean, found.covariance, found.used, prior=True)

    def _other(self, problem: Problem) -> "EmpiricalBayes | LeastSquares | None":
        """Return the estimator of problems that this one is not for; None if it is."""
        if problem.unlimited:
            return LeastSquares()
        if problem.laws is None or np.ptp(problem.weights) > 0 or not 1 < problem.p <= MOST_CORRELATED:
            return EmpiricalBayes(self.dof)
        return None

    def _tuned(self, rows: "_Rows") -> tuple["_Prior", "_Fit", "_Fit"]:
        """Return the prior that fits the responses, and the posteriors for equal scales and for those of the prior."""
        priors = [_Prior.of(factor) for factor in correlations(rows.signs.shape[1])]
        prior = max(priors, key=lambda one: _Fit.of(rows, one, (_USUAL,)).evidence)
        alike = found = _Fit.of(rows, prior, _REACHES)
        for step in range(_STEPS):
            prior = self._updated(prior, found)
            found = _Fit.of(rows, prior, alike.reaches[:1] if step < _STEPS - 1 else _REACHES)
        return prior, alike, found

    def _updated(self, prior: "_Prior", found: "_Fit") -> "_Prior":
        """Return the prior with the scales of a step of EM."""
        squares = (found.mean**2 + np.diag(found.covariance)) / found.prior
        scales = (self.dof + squares * prior.scales) / (self.dof + 1)
        return _Prior(prior.factor, scales / np.exp(np.log(scales).mean()))


@dataclass(frozen=True, slots=True)
class _Prior:
    """The correlation of the linear coefficients factor factor', `(p, p)` each, and their scales `(p,)`."""

    factor: Floats
    scales: Floats

    @classmethod
    def of(cls, factor: Floats) -> Self:
        """Return equal scales."""
        return cls(factor, np.ones(len(factor)))

    @property
    def root(self) -> Floats:
        """A root `(p, p)` of the covariance of the linear coefficients, under which a row has variance 1."""
        return np.asarray(np.sqrt(4 * self.scales / self.scales.sum())[:, None] * self.factor)

    def weights(self, reach: float) -> Floats:
        """Return the weights `(p,)` of the coordinates in the kernel of interactions."""
        if np.isinf(reach):
            return np.full(len(self.scales), _MOST)
        return np.asarray(np.minimum(reach * self.scales / self.scales.sum(), _MOST))


def _between(problem: Problem, chains: Ints, rows: "_Rows", prior: _Prior, found: "_Fit") -> Floats:
    """Return the variances `(p,)` of the mean of the coefficients under the laws of each chain.

    They are a share of the squared coefficients: a mean over the coefficients, weighted by the cube of their magnitude.
    """
    assert problem.laws is not None
    laws = [problem.laws.rows(chains == chain) for chain in np.unique(chains)]
    if len(laws) == 1:
        return np.zeros(problem.p)
    of_chains = (replace(rows, target=Coefficients.of(own)) for own in laws)
    means = np.stack([_Fit.of(one, prior, found.reaches[:1]).mean for one in of_chains])
    weights = np.abs(found.mean)
    spread = float(weights @ means.var(axis=0, ddof=1)) / len(means)
    return np.asarray(spread / max(float((weights**3).sum()), np.finfo(np.float64).tiny) * weights**2)


def _changes(rows: "_Rows", prior: _Prior, found: "_Fit") -> Floats:
    """Return what each row, with all equal to it, adds to the coefficients `(n, p)`, with the prior as it is."""
    interactions, root = Interactions.of(prior.weights(found.reaches[0])), prior.root
    kernel, linear, rest = interactions.between(rows.signs), found.share, 1 - found.share
    kernel[np.diag_indices(len(kernel))] += rows.variances(interactions)
    inverse = solve_triangular(np.linalg.cholesky(kernel), np.eye(len(kernel)), lower=True)
    constant = inverse.sum(axis=1)
    white = _reflected(inverse, constant, float(np.linalg.norm(constant)))
    basis, values, vectors = np.linalg.svd(white @ rows.signs / 2 @ root, full_matrices=False)
    inside = basis.T @ white
    outside = white - basis @ inside
    spread = 1 / (linear * values**2 + rest)
    precision = (inside.T * spread) @ inside + outside.T @ outside / rest
    errors = precision @ rows.y / np.diag(precision)
    pulls = (inside.T * (spread * linear * values)) @ (vectors @ root.T)
    pulls += precision @ (rest * interactions.with_coefficients(rows.signs, rows.target))
    return np.asarray((errors[:, None] * pulls)[rows.group])


@dataclass(frozen=True, slots=True)
class _Rows:
    """The different rows, as signs `(u, p)`, and what is known of the responses to them.

    Attributes
    ----------
    signs, target
        See above, and the coefficients to be estimated.
    y
        The mean response to each row `(u,)`, minus the mean over rows.
    total
        Sum of the squares of y.
    noise
        Variance of y `(u,)` by which equal rows differ, relative to that of the responses.
    group
        The different row that each row `(n,)` is.
    constant
        Whether all responses are the same up to rounding.
    """

    signs: Floats
    target: Coefficients
    y: Floats
    total: float
    noise: Floats
    group: Ints
    constant: bool

    @classmethod
    def of(cls, problem: Problem, laws: Laws) -> Self:
        rows, group, counts = np.unique(problem.z, axis=0, return_inverse=True, return_counts=True)
        group, u = group.ravel(), len(rows)
        means = np.bincount(group, problem.y) / counts
        within = float(np.sum((problem.y - means[group]) ** 2)) / max(problem.n - u, 1)
        noise = np.maximum(within / max(float(problem.y.var()), np.finfo(np.float64).tiny) / counts, u * _ROUNDING)
        y = means - means.mean()
        signs = np.sign(rows - (problem.z.min() + problem.z.max()) / 2)
        total = float(y @ y)
        constant = total <= _CONSTANT * float(problem.y @ problem.y)
        return cls(signs, Coefficients.of(laws), y, total, noise, group, constant)

    def variances(self, interactions: Interactions) -> Floats:
        """Return the variance `(u,)` that is added to the kernel of the interactions."""
        # Where one coordinate has nearly all weight the kernel is a small difference of large numbers.
        return self.noise + len(self.y) * _CANCELLED * float(np.exp(-interactions.log_norm))


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
    reaches
        The reaches, the most probable one first.
    share
        The most probable share that is linear, of the most probable reach.
    """

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float
    reaches: tuple[float, ...]
    share: float

    @classmethod
    def of(cls, rows: _Rows, prior: _Prior, reaches: tuple[float, ...]) -> Self:
        """Return the posterior for a prior of the linear coefficients."""
        parts = [_Part.of(rows, prior, reach) for reach in reaches]
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
        return cls(mean, np.asarray(within + between.T @ between), unknown, used, evidence, best, share)


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
        Covariance of the rest of the coefficients `(p, p)`.
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
    def of(cls, rows: _Rows, root: Floats, weights: Floats) -> Self:
        """Return the kernels for a covariance of the linear coefficients and weights `(p,)` of coordinates.

        The covariance is root root', `(p, p)` each.
        """
        signs, interactions = rows.signs, Interactions.of(weights)
        (u, p), kernel = signs.shape, interactions.between(signs)
        kernel[np.diag_indices(u)] += rows.variances(interactions)
        lower = np.linalg.cholesky(kernel)
        columns = np.column_stack([np.ones(u), rows.y, signs / 2, interactions.with_coefficients(signs, rows.target)])
        constant, *white = np.split(solve_triangular(lower, columns, lower=True), [1, 2, 2 + p], axis=1)
        length = float(np.linalg.norm(constant))
        y, halves, rest = (_reflected(one, constant[:, 0], length) for one in white)
        basis, values, vectors = np.linalg.svd(halves @ root, full_matrices=False)
        own_y, own_rest = basis.T @ y, basis.T @ rest
        other_y, other_rest = y - basis @ own_y, rest - basis @ own_rest
        return cls(
            values**2,
            u - 1,
            float(np.log(np.diag(lower)).sum() + np.log(length) - np.log(u) / 2),
            own_y[:, 0],
            values[:, None] * (vectors @ root.T),
            own_rest,
            basis.T @ halves,
            float(np.sum(other_y**2)),
            (other_rest.T @ other_y)[:, 0],
            other_rest.T @ other_rest,
            interactions.of_coefficients(rows.target),
        )


def _reflected(columns: Floats, constant: Floats, length: float) -> Floats:
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

    @classmethod
    def of(cls, rows: _Rows, prior: _Prior, reach: float) -> Self:
        """Return the posterior for a prior. Each array over the grid has a row for each linear share."""
        root = prior.root
        kernels = _Kernels.of(rows, root, prior.weights(reach))
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
        parts = ((_LINEAR, kernels.linear, root @ root.T), (_REST, kernels.rest, kernels.spread))
        before = sum((scale @ share) * spread for share, _, spread in parts)
        covariance, used = between.T @ between + before - (scale @ _REST) * kernels.other_squares, 0.0
        for share, one, _ in parts:
            used += float(np.sum(((chosen * share) @ precision) @ (one * kernels.signs)))
            for other_share, other, _ in parts:
                covariance -= (one.T * ((scale * share * other_share) @ precision)) @ other
        share = float(_LINEAR[chosen.argmax()])
        return cls(mean, covariance, np.diag(before), used, float(np.logaddexp.reduce(joint)), share)
