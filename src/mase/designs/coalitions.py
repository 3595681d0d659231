"""Designs over the sizes of coalitions: the Shapley kernel and leverage scores."""

from dataclasses import dataclass, replace
from itertools import combinations, islice
from math import comb

import numpy as np

from mase.arrays import Floats, Ints
from mase.designs.placement import exchangeable, mirrored, pair_count
from mase.solve.problem import Design, Distribution, Sample

# Draws per pair that is still to be found. A repeated draw adds to the weight of its pair and needs no evaluation.
_DRAWS_PER_PAIR = 4


@dataclass(frozen=True, slots=True)
class Shapley(Design):
    """Pairs of a coalition and its complement, weighted by the Shapley kernel (p - 1) / (C(p, k) k (p - k)).

    The first pair is the text and the reference. It has infinite weight, so its difference is fitted exactly
    (`mase.estimators.linear`). As in `shap`, sizes are taken from both ends. All coalitions of the sizes k and
    p - k are evaluated as long as they fit into their share of the budget, which is proportional to the kernel. The
    rest of the budget is drawn with the kernel as probability; a coalition that is drawn twice counts twice.

    Notes
    -----
    The `shap` package also selects features. By default (`l1_reg`) it keeps the ten strongest and scores all others 0.
    Here every word gets a score, as with ``l1_reg=False``.

    Proposition "Kernel SHAP" has the kernel in both the loss and the sampling distribution, which would count it twice.
    Here each size has it in one of the two.
    """

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of a coalition whose size is drawn with the kernel as probability."""
        p = int(np.count_nonzero(scale))
        sizes = np.arange(1, p)
        return exchangeable(p, sizes, 1 / (sizes * (p - sizes)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return at most n rows."""
        p, room = distribution.covariance.size, pair_count(n) - 1
        weights = size_weights(p)
        coalitions, shares = complete_sizes(p, room, weights)
        left, n_certain = weights[len(shares) :], len(coalitions)
        pair_weights = np.concatenate([[1.0], *shares])
        if len(left):
            drawn, counts = _drawn(rng, p, room - len(coalitions), left)
            coalitions = np.concatenate([coalitions, drawn])
            pair_weights = np.concatenate([pair_weights, left.sum() * counts / counts.sum()])
        return coalition_sample(coalitions, pair_weights, distribution, n_certain, exhaustive=not len(left))

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all 2^p coalitions."""
        p = distribution.covariance.size
        coalitions, shares = complete_sizes(p, 2 ** (p - 1), size_weights(p))
        return coalition_sample(
            coalitions, np.concatenate([[1.0], *shares]), distribution, len(coalitions), exhaustive=True
        )


def coalition_sample(
    coalitions: Floats, weights: Floats, distribution: Distribution, n_certain: int, *, exhaustive: bool
) -> Sample:
    """Return the text and the reference, then each of the coalitions `(m, p)` with its complement.

    Every draw has the first `n_certain` of the coalitions.

    `weights` `(m + 1,)` are those of the pairs, beginning with that of text and reference, which does not count unless
    there is no other.
    """
    rows = np.concatenate([np.ones((1, coalitions.shape[1])), coalitions])
    sample = mirrored(rows - 0.5, Distribution(0.5, distribution.covariance))
    n_exact = int(len(coalitions) > 0)
    sample = replace(sample, weights=np.repeat(weights, 2), n_exact=n_exact, n_certain=n_certain)
    return replace(sample, divisible=False, exhaustive=exhaustive)


def size_weights(p: int) -> Floats:
    """Return the total kernel weights `(p // 2,)` of coalitions of size k or p - k, k from 1; their sum is 1."""
    sizes = np.arange(1, p // 2 + 1)
    weights = (1 + (2 * sizes != p)) / (sizes * (p - sizes))
    return np.asarray(weights / weights.sum()) if len(sizes) else np.empty(0)


def _n_pairs(p: int, size: int) -> int:
    """Return the number of pairs of a coalition of that size and its complement."""
    return comb(p, size) // (2 if 2 * size == p else 1)


def complete_sizes(p: int, room: int, weights: Floats) -> tuple[Floats, list[Floats]]:
    """Return all coalitions `(m, p)` of the sizes that are evaluated completely, and their weights for each size.

    Complete sizes are those that fit into their share of the `room`, which is proportional to the `weights` `(s,)`.
    """
    coalitions: list[Floats] = [np.empty((0, p))]
    shares: list[Floats] = []
    for size, weight in enumerate(weights, start=1):
        pairs, rest = _n_pairs(p, size), weights[size - 1 :].sum()
        if room * weight / rest < pairs * (1 - 1e-8):
            break
        # Of the coalitions of size p / 2 take the first half: the other half are their complements.
        chosen = islice(combinations(range(p), size), pairs)
        rows = np.zeros((pairs, p))
        rows[np.arange(pairs)[:, None], np.array(list(chosen))] = 1.0
        coalitions, shares, room = [*coalitions, rows], [*shares, np.full(pairs, weight / pairs)], room - pairs
    return np.concatenate(coalitions), shares


def _drawn(rng: np.random.Generator, p: int, room: int, weights: Floats) -> tuple[Floats, Floats]:
    """Return at most `room` distinct coalitions `(m, p)` of the largest sizes, and how often `(m,)` each was drawn."""
    last = p // 2
    sizes = np.arange(last - len(weights) + 1, last + 1)
    counts: dict[bytes, int] = {}
    for size in rng.choice(sizes, size=_DRAWS_PER_PAIR * room, p=weights / weights.sum()):
        row = np.zeros(p, dtype=bool)
        row[rng.choice(p, size=size, replace=False)] = True
        key = min(row.tobytes(), (~row).tobytes())  # A coalition and its complement are one pair.
        if key not in counts and len(counts) == room:
            break
        counts[key] = counts.get(key, 0) + 1
    rows = np.array([np.frombuffer(key, dtype=bool) for key in counts], dtype=np.float64)
    return rows.reshape(-1, p), np.array(list(counts.values()), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Leverage(Design):
    """Pairs of a coalition and its complement, drawn by their leverage scores 1 / C(p, k), without replacement.

    The regression is that of Kernel SHAP (`mase.designs.coalitions`), and its coefficients converge to the same Shapley
    values. The leverage score of a row is how much it can move the coefficients. The scores of all coalitions of one
    size sum to 1, so each size gets the same number of rows, or all that it has. A drawn row has its kernel weight
    divided by the probability of being drawn.

    Notes
    -----
    Algorithm 1 of Musco and Witter (arXiv 2410.01917) draws the number of rows of each size from a binomial
    distribution. Here it is the expected number, rounded up or down at random such that the expectation is kept and the
    sum is the budget.
    """

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
