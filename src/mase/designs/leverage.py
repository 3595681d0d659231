"""Coalitions drawn by their leverage scores: the rows of Leverage SHAP."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats, Ints
from mase.designs.placement import pair_count
from mase.designs.shapley import Shapley, coalition_sample, complete_sizes, size_weights
from mase.regression.problem import Distribution, Sample

__all__ = ["Leverage"]


@dataclass(frozen=True, slots=True)
class Leverage:
    """Pairs of a coalition and its complement, drawn by their leverage scores 1 / C(p, k), without replacement.

    The regression is that of Kernel SHAP (`mase.designs.shapley`), and its coefficients converge to the same Shapley
    values. The leverage score of a row is how much it can move the coefficients. The scores of all coalitions of one
    size sum to 1, so each size gets the same number of rows, or all that it has. A drawn row has its kernel weight
    divided by the probability of being drawn.

    Notes
    -----
    Algorithm 1 of Musco and Witter (arXiv 2410.01917) draws the number of rows of each size from a binomial
    distribution. Here it is the expected number, rounded up or down at random such that the expectation is kept and the
    sum is the budget.
    """

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of Kernel SHAP, which the weighted rows have."""
        return Shapley().distribution(scale)

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return at most n rows."""
        p, room = distribution.covariance.size, pair_count(n) - 1
        kernel = size_weights(p)
        scores = np.where(2 * np.arange(1, len(kernel) + 1) == p, 0.5, 1.0)  # of pairs of one size: half as many at p/2
        coalitions, complete = complete_sizes(p, room, scores)
        weights = [np.full(len(share), weight / len(share)) for share, weight in zip(complete, kernel, strict=False)]
        left, n_certain = scores[len(complete) :], len(coalitions)
        if len(left):
            expected = (room - len(coalitions)) * left / left.sum()
            counts = _rounded(rng, expected)
            sizes = range(len(complete) + 1, len(kernel) + 1)
            drawn = [_distinct(rng, p, size, count) for size, count in zip(sizes, counts.tolist(), strict=True)]
            coalitions = np.concatenate([coalitions, *drawn])
            weights.append(np.repeat(kernel[len(complete) :] / expected, counts))
        pair_weights = np.concatenate([[1.0], *weights])
        return coalition_sample(coalitions, pair_weights, distribution, n_certain, exhaustive=not len(left))

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all 2^p coalitions with their kernel weights."""
        return Shapley().exhaustive(distribution, gamma)


def _rounded(rng: np.random.Generator, expected: Floats) -> Ints:
    """Return integers `(s,)` with these expectations, whose sum is that of the expectations (systematic sampling)."""
    ends = np.floor(np.cumsum(expected) + rng.random())
    ends[-1] = np.round(expected.sum())
    counts: Ints = np.diff(np.minimum(ends, ends[-1]), prepend=0).astype(np.int64)
    return counts


def _distinct(rng: np.random.Generator, p: int, size: int, count: int) -> Floats:
    """Return `count` distinct coalitions `(count, p)` of one size, of which no two are complements."""
    rows = dict[bytes, Floats]()
    while len(rows) < count:
        row = np.zeros(p)
        row[rng.choice(p, size=size, replace=False)] = 1.0
        if 2 * size == p and not row[0]:
            row = 1 - row  # a coalition and its complement are one pair
        rows.setdefault(row.tobytes(), row)
    return np.array(list(rows.values())).reshape(-1, p)
