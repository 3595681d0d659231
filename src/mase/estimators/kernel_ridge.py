"""Kernel ridge regression of the responses to masked copies of a text: the estimator of the default method."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import lapack

from mase.arrays import Floats, Ints
from mase.errors import OptionError
from mase.estimators.bayes import EmpiricalBayes
from mase.estimators.linear import LeastSquares
from mase.solve.distributions import Mixture, TargetMixture, centred, no_scatter, scatter, self_consistent
from mase.solve.kernel import Kernel
from mase.solve.problem import Estimate, Estimator, Problem

# Settings that are compared by the marginal likelihood: a and c of the kernel, and penalties of the ridge regression.
_LINEAR, _OWN = (0.3, 0.6, 0.8, 0.9, 0.97, 0.99), (1e-4, 0.03, 0.3, 1.0)
_RIDGE_PENALTIES = (0.03, 0.1, 0.3, 1.0)
# Of more rows, so many choose the settings; and of more than the second number, random blocks are fitted.
_MOST_TUNED, _BLOCK = 128, 3_000
# Draws of the scores for their mask rates, and how often the variance of the scores between the draws counts.
_DRAWS, _MOVED = 16, 4.0
# A prior takes about this part of a score, times the share of its prior variance that the responses leave open.
_SHRUNK = 2.5
# Squares of centred responses below this share of those of the responses are rounding, and the least error of a score
# as a share of the largest one.
_ROUNDING, _LEAST_ERROR = 1e-24, 1e-10


@dataclass(frozen=True, slots=True)
class KernelRidge(Estimator):
    """Scores from a kernel ridge regression of the responses on which words were kept.

    1. Two copies of the text are alike by k(s, s') = a l + (1 - a) exp(2 (l - 1)), where s_j = 1 if word j is kept and
       -1 if it is masked, and l = sum_j w_j s_j s'_j is their agreement (`mase.solve.kernel.Kernel`).
    2. The response is f(s) = b + k(s)' (K + penalty I)^-1 (y - b), the kernel ridge regression of the responses y.
    3. The weights w, the share a and the penalty are those that make the responses most probable (empirical Bayes).
    4. The score of a word is its coefficient in a least-squares regression of f on endless copies, whose words are
       masked at the rates of the design. All integrals have closed forms.
    5. Its error has three parts: what the responses leave open about f (the posterior variance), how much the score
       changes without each single row (the jackknife, by the closed form of leave-one-out), and what the penalty takes.

    Parameters
    ----------
    dof
        Degrees of freedom of the Student t distribution of the words' effects: the fewer, the more may some stand out.

    Notes
    -----
    Kernel ridge regression is the mean of a Gaussian process with the covariance k (Rasmussen and Williams 2006); the
    constant b has a flat prior. A product kernel of zeros and ones has means in closed form over copies whose words
    are masked independently (Bayesian quadrature, O'Hagan 1991; Durrande et al. 2013). The weights follow from two
    steps of EM for scales of a t distribution, on at most 128 random rows. Equal rows count once.

    The rates of a design may follow from the scores, as in `Focused`. They are then a mean over those of 16 draws of
    the scores from their distribution, and four times the variance of the scores under the rates of each draw is added
    to their variances. These are otherwise the mean of the posterior variance and the jackknife, which is how much
    scores differ between seeds. A penalty draws scores to 0 with every seed: the `bias` of a score is taken for 2.5
    times the share of its prior variance that the responses leave open, times the score. Both numbers were chosen on
    validation texts, such that 95 % intervals contain the scores of endless rows.

    More than 3,000 different rows are split into random blocks, whose scores are averaged. Of all rows that there are,
    the estimate is that of `LeastSquares`; of a design without known rates, of rows with unequal weights and of one
    word alone that of `EmpiricalBayes`.
    """

    dof: float = 4.0
    uses_target_mixture: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.dof < np.inf:
            raise OptionError(f"dof is {self.dof!r}, expected a finite number > 0")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)` with its covariance, and the other effects that the design has target mixtures for."""
        if (other := self._other(problem)) is not None:
            return other.fit(problem)
        assert problem.components is not None
        rows = _Rows.of(problem)
        if rows.constant:
            nothing = Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
            return replace(nothing, other_effects=dict.fromkeys(problem.other_effects, nothing))
        shuffled = np.random.default_rng(0).permutation(rows.n)
        settings = self._tuned(rows.some(np.sort(shuffled[:_MOST_TUNED])))
        blocks = [np.sort(block) for block in np.array_split(shuffled, -(-rows.n // _BLOCK))]
        model = _Model(problem, rows, blocks, [_Fit.of(rows.some(block), settings) for block in blocks])
        if problem.target_mixture is None:
            return model.estimates([(problem.components.mixture(), no_scatter(problem.p))])[0]
        first, *others = model.estimates(model.following([problem.target_mixture, *problem.other_effects.values()]))
        return replace(first, other_effects=dict(zip(problem.other_effects, others, strict=True)))

    def rough(self, problem: Problem) -> Estimate:
        """Return a cheaper estimate, by which the next rows are chosen: ridge regression without interactions.

        The level of the penalty is the one of highest marginal likelihood, and each word has a penalty of its own by
        one step of EM.
        """
        if (other := self._other(problem)) is not None:
            return other.fit(problem)
        ones = np.ones(problem.n)
        z, y = 2 * centred(problem.z, ones, problem.groups), centred(problem.y, ones, problem.groups)
        if float(y @ y) <= _ROUNDING * float(problem.y @ problem.y):
            return Estimate(np.zeros(problem.p), no_scatter(problem.p), 0.0, prior=True)
        products = None if problem.n < problem.p else (z.T @ z, z.T @ y)
        weights, free = np.full(problem.p, 1 / problem.p), problem.n - problem.n_intercepts
        weights = self._reweighted(weights, *_ridge(z, y, products, weights, free))
        mean, variances, _ = _ridge(z, y, products, weights, free)
        return Estimate(2 * mean, _diagonal(4 * variances), 0.0, prior=True)

    def draft(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` by ridge regression without interactions."""
        return self.rough(problem).gamma

    def _other(self, problem: Problem) -> EmpiricalBayes | LeastSquares | None:
        """Return the estimator of problems that this one is not for; None if it is."""
        if problem.unlimited:
            return LeastSquares()
        if problem.components is None or np.ptp(problem.weights) > 0 or problem.p == 1:
            return EmpiricalBayes(self.dof)
        return None

    def _tuned(self, rows: "_Rows") -> "_Settings":
        """Return the settings of highest marginal likelihood, after two steps of EM for the weights of the words."""
        p = rows.signs.shape[1]
        first = _Fit.of(rows, _Settings(np.full(p, 1 / p), 0.6, _OWN[0], 0.0))
        usual = replace(first.settings, noise=rows.noise / first.variance)
        usual = replace(usual, weights=self._reweighted(usual.weights, *first.under_fair_coins()))
        best = _best(rows, [replace(usual, linear=linear) for linear in _LINEAR], _LINEAR.index(0.8))
        best = _best(rows, [replace(best.settings, own=own) for own in _OWN], 0)
        weights = self._reweighted(usual.weights, *best.under_fair_coins())
        last = replace(best.settings, weights=weights, noise=rows.noise / best.variance)
        return _best(rows, [replace(last, linear=linear) for linear in _LINEAR], _LINEAR.index(last.linear)).settings

    def _reweighted(self, weights: Floats, mean: Floats, variances: Floats, prior: Floats) -> Floats:
        """Return the weights `(p,)` after a step of EM for the scales of coefficients with a t distribution."""
        scales = (self.dof + (mean**2 + variances) / prior * weights * len(weights)) / (self.dof + 1)
        return np.asarray(scales / scales.sum())


def _ridge(
    z: Floats, y: Floats, products: tuple[Floats, Floats] | None, weights: Floats, free: int
) -> tuple[Floats, Floats, Floats]:
    """Return the posterior means and variances and the prior variances `(p,)` of coefficients with some weights `(p,)`.

    Signs z `(n, p)` and y `(n,)` are centred, with `free` degrees of freedom; `products` are z'z and z'y, and None with
    fewer rows than words, for which all pairs of rows take less time. The variance of the noise is a penalty times that
    of the signal, chosen by the marginal likelihood.
    """
    roots, (n, p) = np.sqrt(weights), z.shape
    if products is None:
        scaled, log_dets = z * roots, 0.0
        gram, right = scaled @ scaled.T, y
    else:
        gram, right, log_dets = products[0] * np.outer(roots, roots), products[1] * roots, float(n - p)
    best = (-np.inf, 0.0, gram, right, 0.0)
    for penalty in _RIDGE_PENALTIES:
        matrix = gram.copy()
        matrix.flat[:: len(matrix) + 1] += penalty
        lower = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)[0]
        solved = lapack.dpotrs(lower, right, lower=1)[0]
        rss = float(y @ solved if products is None else (y @ y - right @ solved) / penalty)
        rss = max(rss, np.finfo(np.float64).tiny)
        log_det = 2 * float(np.log(np.diag(lower)).sum()) + log_dets * float(np.log(penalty))
        best = max(best, (-free * float(np.log(rss)) - log_det, penalty, lower, solved, rss / free), key=itemgetter(0))
    _, penalty, lower, solved, variance = best
    if products is None:
        white = lapack.dtrtrs(lower, np.asfortranarray(scaled), lower=1)[0]
        mean, left = scaled.T @ solved, 1 - np.einsum("nj,nj->j", white, white)
    else:
        inverse = lapack.dtrtri(lower, lower=1)[0]
        mean, left = solved, penalty * np.einsum("nj,nj->j", inverse, inverse)
    prior = variance * weights
    return roots * mean, prior * np.maximum(left, 0), prior


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The u different rows of a problem, as signs `(u, p)`, with their mean responses `(u,)` minus the mean of all.

    `counts` `(u,)` says how often each was asked, and `index` `(n,)` which of them each row of the problem is. `noise`
    is the variance of different responses to one row, 0 if none was asked twice.
    """

    signs: Floats
    y: Floats
    counts: Floats
    index: Ints
    noise: float
    constant: bool

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the different rows, by first appearance."""
        kept = problem.z > (problem.z.min() + problem.z.max()) / 2
        bits = np.packbits(kept, axis=1)
        whole = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
        _, first, index = np.unique(whole, return_index=True, return_inverse=True)
        order = np.argsort(first)
        index, first = np.argsort(order)[index], first[order]
        counts = np.bincount(index)
        y = np.bincount(index, problem.y) / counts
        noise = float(np.sum((problem.y - y[index]) ** 2)) / max(problem.n - len(y), 1)
        y -= y.mean()
        constant = float(y @ y) <= _ROUNDING * float(problem.y @ problem.y)
        return cls(2.0 * kept[first] - 1, y, counts.astype(np.float64), index, noise, constant)

    @property
    def n(self) -> int:
        """Number of different rows."""
        return len(self.y)

    def some(self, chosen: Ints) -> Self:
        """Return some of the different rows; their index has no meaning."""
        return replace(self, signs=self.signs[chosen], y=self.y[chosen], counts=self.counts[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class _Settings:
    """The settings of the kernel: weights `(p,)`, the share a of its linear part, and c.

    `noise` is the variance of different responses to one row, relative to that of responses with the covariance k.
    """

    weights: Floats
    linear: float
    own: float
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """A kernel ridge regression with an unpenalised constant.

    With the Cholesky factor L of K + penalty I, `white_one` is the vector of ones times L^-1, at length 1, and
    `white_y` that of the responses without its part along `white_one`. `variance` is that of responses with the
    covariance k, and `evidence` the logarithm of their marginal likelihood.
    """

    kernel: Kernel
    settings: _Settings
    lower: Floats
    white_one: Floats
    white_y: Floats
    variance: float
    evidence: float

    @classmethod
    def of(cls, rows: _Rows, settings: _Settings, kernel: Kernel | None = None) -> Self:
        """Return the fit of rows; `kernel` is that of their signs for the weights of the settings."""
        kernel = kernel or Kernel.of(rows.signs, settings.weights)
        matrix = kernel.matrix(settings.linear, settings.own + settings.noise / rows.counts)
        lower = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1)[0]
        white = lapack.dtrtrs(lower, np.array([np.ones(rows.n), rows.y]).T, lower=1)[0]
        squares = float(white[:, 0] @ white[:, 0])
        item = white[:, 0] / np.sqrt(squares)
        y = white[:, 1] - item * (item @ white[:, 1])
        rss, free = max(float(y @ y), np.finfo(np.float64).tiny), max(rows.n - 1, 1)
        evidence = -free / 2 * np.log(rss) - np.log(np.diag(lower)).sum() - np.log(squares) / 2
        return cls(kernel, settings, lower, item, y, rss / free, float(evidence))

    def whitened(self, covariances: Floats) -> Floats:
        """Return L^-1 c for columns c `(n, m)`, without their parts along the constant."""
        white = lapack.dtrtrs(self.lower, np.asfortranarray(covariances), lower=1)[0]
        return np.asarray(white - np.outer(self.white_one, self.white_one @ white))

    def under_fair_coins(self) -> tuple[Floats, Floats, Floats]:
        """Return posterior means and variances and prior variances of the coefficients of the signs `(p,)`."""
        slopes = self.kernel.slopes(self.settings.linear, self.settings.own)
        white = self.whitened(self.kernel.signs * slopes)
        left = np.maximum(slopes - np.einsum("nj,nj->j", white, white), 0)
        return self.white_y @ white, self.variance * left, self.variance * slopes

    @property
    def dual(self) -> Floats:
        """The coefficients `(n,)` of f(s) = b + sum_i dual_i k(s, s_i)."""
        return np.asarray(lapack.dtrtrs(self.lower, self.white_y, lower=1, trans=1)[0])

    def determined(self, covariances: Floats) -> tuple[Floats, Floats, Floats]:
        """Return what responses determine of the variances of scores, from their covariances `(n, m)` with the scores.

        The shares `(m,)` are in units of `variance`. There follow what scores change per unit of each response, and
        without each row, both `(n, m)`. A fit without row i errs by dual_i / P_ii, where P is the matrix that makes the
        dual coefficients of responses. Single precision is enough for all of these.
        """
        inverse = lapack.strtri(self.lower.astype(np.float32), lower=1)[0]
        item = lapack.dtrtrs(self.lower, self.white_one, lower=1, trans=1)[0]
        errors = self.dual / (np.einsum("ij,ij->j", inverse, inverse) - item**2)
        white = inverse @ covariances.astype(np.float32)
        white_one = self.white_one.astype(np.float32)
        white -= np.outer(white_one, white_one @ white)
        row_weights = inverse.T @ white
        return (
            np.einsum("nj,nj->j", white, white).astype(np.float64),
            row_weights,
            errors[:, None].astype(np.float32) * row_weights,
        )


def _diagonal(variances: Floats) -> Floats:
    """Return the covariance `(p, p)` of uncorrelated coefficients, or their variances `(p,)` if there are many."""
    spread = no_scatter(len(variances))
    return spread + (variances if spread.ndim == 1 else np.diag(variances))


def _best(rows: _Rows, settings: Sequence[_Settings], start: int) -> _Fit:
    """Return the fit of highest marginal likelihood by a climb from one of the settings, which share their weights."""
    kernel, result = Kernel.of(rows.signs, settings[0].weights), dict[int, _Fit]()
    while True:
        for item in range(max(start - 1, 0), min(start + 2, len(settings))):
            result[item] = result.get(item) or _Fit.of(rows, settings[item], kernel)
        best = max(result, key=lambda item: result[item].evidence)
        if best == start:
            return result[best]
        start = best


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """The function that is fitted to the responses: the mean of the fits of blocks of the different rows."""

    problem: Problem
    rows: _Rows
    blocks: Sequence[Ints]
    fits: Sequence[_Fit]

    def following(self, targets: Sequence[TargetMixture]) -> list[tuple[Mixture, Floats]]:
        """Return for each target mixture the mask rates that follow from its scores, and the covariance of these
        between draws.

        The rates are a mean over those of draws of the scores, with the errors that these have under fair coins.
        """
        coins = [fit.under_fair_coins() for fit in self.fits]
        spread = 2 * np.sqrt(np.mean([variances for _, variances, _ in coins], axis=0) / len(coins))
        noise = spread * np.random.default_rng(0).standard_normal((_DRAWS // 2, len(spread)))
        noise, duals = np.concatenate([noise, -noise]), [fit.dual for fit in self.fits]

        def scores(shares: Floats, rates: Floats) -> Floats:
            """Return the scores `(d, p)` under d mixtures."""
            each = [
                fit.kernel.scores(fit.settings.linear, fit.settings.own, dual, shares, rates)
                for fit, dual in zip(self.fits, duals, strict=True)
            ]
            return np.asarray(np.mean(each, axis=0))

        def drawn(target_mixture: TargetMixture, mean: Floats) -> tuple[Floats, Floats]:
            mixtures = target_mixture(mean + noise)
            return np.stack([mixture.shares for mixture in mixtures]), np.stack([mixture.rates for mixture in mixtures])

        def mixture_of(target_mixture: TargetMixture, mean: Floats) -> Mixture:
            return Mixture(*(each.mean(axis=0) for each in drawn(target_mixture, mean)))

        def scores_under(mixture: Mixture) -> Floats:
            return np.asarray(scores(mixture.shares[None], mixture.rates[None])[0])

        result = []
        for target_mixture in targets:
            (first,) = target_mixture(np.zeros((1, len(spread))))
            mixture = self_consistent(first, partial(mixture_of, target_mixture), scores_under)
            draws = scores(*drawn(target_mixture, scores_under(mixture)))
            result.append((mixture, scatter(draws - draws.mean(axis=0)) / len(draws)))
        return result

    def estimates(self, wanted: Sequence[tuple[Mixture, Floats]]) -> list[Estimate]:
        """Return the scores under each mixture of mask rates; beside it is their covariance between the draws."""
        p, u, n_fits = self.problem.p, self.rows.n, len(self.fits)
        row_weights, changes = (np.empty((u, len(wanted) * p)) for _ in range(2))
        means, posteriors, priors = [], [], []
        for block, fit in zip(self.blocks, self.fits, strict=True):
            mixtures = (mixture for mixture, _ in wanted)
            known = [fit.kernel.covariances(fit.settings.linear, fit.settings.own, mixture) for mixture in mixtures]
            prior = np.concatenate([variances for _, variances in known])
            covariances = np.concatenate([covariances for covariances, _ in known], axis=1)
            determined, pulled, changed = fit.determined(covariances)
            means.append(fit.dual @ covariances)
            priors.append(fit.variance * prior)
            posteriors.append(fit.variance * np.maximum(prior - determined, 0))
            row_weights[block], changes[block] = pulled / n_fits, changed / n_fits
        gamma, prior, posterior = (np.mean(each, axis=0).reshape(-1, p) for each in (means, priors, posteriors))
        asked, index = u * 2.0**-p, self.rows.index
        z = centred(self.problem.z, np.ones(self.problem.n), self.problem.groups) / self.rows.counts[index, None]
        result = []
        for item, (_, moved) in enumerate(wanted):
            own, scores = slice(item * p, (item + 1) * p), gamma[item]
            variances = (1 + asked) / 2 * posterior[item] / n_fits + (_LEAST_ERROR * np.abs(scores).max()) ** 2
            covariance = _diagonal(variances) + (1 - asked) / 2 * scatter(changes[:, own]) + _MOVED * moved
            dof = float(np.einsum("np,np->", z, row_weights[index, own]))
            bias = _SHRUNK * posterior[item] / prior[item] * np.abs(scores)
            result.append(Estimate(scores, covariance, dof, prior=True, changes=changes[index, own], bias=bias))
        return result
