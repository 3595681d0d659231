"""Regression with interactions as a random part: what rows of zeros and ones leave open is what was not asked."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from mase.arrays import Floats, Ints
from mase.estimators.empirical_bayes import EmpiricalBayes, correlations
from mase.estimators.least_squares import LeastSquares
from mase.estimators.random_function import Posterior, Prior, Rows, reflected
from mase.regression.anova import Coefficients, Interactions
from mase.regression.covariance import MOST_CORRELATED, no_scatter
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["GaussianProcess"]

# Sums of the weights of all coordinates in the kernel of interactions: the larger, the more coordinates interact at
# once. Without a bound every subset has a value of its own.
_REACHES = (0.5, 1.0, 2.0, 4.0, 8.0, np.inf)
# The reach with which correlations of neighbouring coefficients are compared.
_USUAL = 2.0
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
    estimate is a mean over random blocks of 1,000 to 2,000 rows, so that time grows in proportion to the rows.

    Up to 128 rows the covariance is that of the posterior, a mean of those for the scales that were found and for equal
    scales. With ever more rows it is that of the jackknife, which leaves out one row after the other, and does not take
    the response for a Gaussian process. Each chain of the design has laws, and so coefficients, of its own: the
    variance of their mean is added.

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
        blocks = [Rows.of(problem.rows(block), problem.laws) for block in chosen]
        if all(rows.constant for rows in blocks):
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        if any(rows.constant for rows in blocks):
            return LeastSquares().fit(problem)
        few = Rows.of(problem.rows(np.sort(shuffled[:_MOST_TUNED])), problem.laws)
        few = blocks[0] if few.constant else few
        share = min(1.0, _MOST_TUNED / problem.n)
        prior, alike, found = self._tuned(few, whole=share == 1)
        pairs = [(alike, found)]
        if share < 1:
            prior = self._updated(prior, Posterior.of(blocks[0], prior, found.reaches[:1], whole=False))
            equal, first, best = Prior.of(prior.factor), alike.reaches[:1], found.reaches[:2]
            pairs = [(Posterior.of(rows, equal, first), Posterior.of(rows, prior, best)) for rows in blocks]
        changes, covariance = np.empty((problem.n, problem.p)), np.zeros((problem.p, problem.p))
        for block, rows, (alike, found) in zip(chosen, blocks, pairs, strict=True):
            changed = _changes(rows, prior, found) / n_blocks
            changes[block] = changed[rows.group]
            posterior = (alike.covariance + found.covariance) / 2 / n_blocks**2
            covariance += share * posterior + (1 - share) * changed.T @ changed
        if problem.chains is not None:
            covariance[np.diag_indices(problem.p)] += _between(problem, problem.chains, blocks[0], prior, pairs[0][1])
        known = np.diag(covariance) <= 0  # by rounding: the difference of two large numbers
        covariance[known] = covariance[:, known] = 0.0
        mean, used = (np.mean([getattr(own, name) for _, own in pairs], axis=0) for name in ("mean", "used"))
        return Estimate(mean, covariance, float(used), prior=True, changes=changes)

    def rough(self, problem: Problem) -> Estimate:
        """Return a cheaper estimate, from equal scales and one step of EM, without correlations."""
        other = self._other(problem)
        if other is not None:
            return other.fit(problem)
        assert problem.laws is not None
        rows = Rows.of(problem, problem.laws)
        if rows.constant:
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        prior = Prior.of(np.eye(problem.p))
        for _ in range(_ROUGH_STEPS):
            prior = self._updated(prior, Posterior.of(rows, prior, (_USUAL,), whole=False))
        found = Posterior.of(rows, prior, (_USUAL,), whole=False)
        return Estimate(found.mean, found.covariance, found.used, prior=True)

    def _other(self, problem: Problem) -> "EmpiricalBayes | LeastSquares | None":
        """Return the estimator of problems that this one is not for; None if it is."""
        if problem.unlimited:
            return LeastSquares()
        if problem.laws is None or np.ptp(problem.weights) > 0 or not 1 < problem.p <= MOST_CORRELATED:
            return EmpiricalBayes(self.dof)
        return None

    def _tuned(self, rows: Rows, *, whole: bool) -> tuple[Prior, Posterior, Posterior]:
        """Return the prior that fits the responses, and the posteriors for equal scales and for those of the prior."""
        priors = [Prior.of(factor) for factor in correlations(rows.signs.shape[1])]
        prior = max(priors, key=lambda one: Posterior.of(rows, one, (_USUAL,), whole=False).evidence)
        alike = found = Posterior.of(rows, prior, _REACHES, whole=whole)
        for step in range(_STEPS):
            prior, last = self._updated(prior, found), step == _STEPS - 1
            found = Posterior.of(rows, prior, _REACHES if last else alike.reaches[:1], whole=whole and last)
        return prior, alike, found

    def _updated(self, prior: Prior, found: Posterior) -> Prior:
        """Return the prior with the scales of a step of EM."""
        squares = (found.mean**2 + found.variances) / found.prior
        scales = (self.dof + squares * prior.scales) / (self.dof + 1)
        return Prior(prior.factor, scales / np.exp(np.log(scales).mean()))


def _between(problem: Problem, chains: Ints, rows: Rows, prior: Prior, found: Posterior) -> Floats:
    """Return the variances `(p,)` of the mean of the coefficients under the laws of each chain.

    They are a share of the squared coefficients: a mean over the coefficients, weighted by the cube of their magnitude.
    """
    assert problem.laws is not None
    laws = [problem.laws.rows(chains == chain) for chain in np.unique(chains)]
    if len(laws) == 1:
        return np.zeros(problem.p)
    of_chains = (replace(rows, target=Coefficients.of(own)) for own in laws)
    means = np.stack([Posterior.of(one, prior, found.reaches[:1], whole=False).mean for one in of_chains])
    weights = np.abs(found.mean)
    spread = float(weights @ means.var(axis=0, ddof=1)) / len(means)
    return np.asarray(spread / max(float((weights**3).sum()), np.finfo(np.float64).tiny) * weights**2)


def _changes(rows: Rows, prior: Prior, found: Posterior) -> Floats:
    """Return what each of the different rows adds to the coefficients `(u, p)`, with the prior as it is."""
    interactions, root = Interactions.of(prior.weights(found.reaches[0])), prior.root
    kernel, linear, rest = interactions.between(rows.signs), found.share, 1 - found.share
    kernel[np.diag_indices(len(kernel))] += rows.variances(interactions)
    inverse = solve_triangular(np.linalg.cholesky(kernel), np.eye(len(kernel)), lower=True)
    constant = inverse.sum(axis=1)
    white = reflected(inverse, constant, float(np.linalg.norm(constant)))
    basis, values, vectors = np.linalg.svd(white @ rows.signs / 2 @ root, full_matrices=False)
    inside = basis.T @ white
    outside = white - basis @ inside
    spread = 1 / (linear * values**2 + rest)
    precision = (inside.T * spread) @ inside + outside.T @ outside / rest
    errors = precision @ rows.y / np.diag(precision)
    pulls = (inside.T * (spread * linear * values)) @ (vectors @ root.T)
    pulls += precision @ (rest * interactions.with_coefficients(rows.signs, rows.target))
    return np.asarray(errors[:, None] * pulls)
