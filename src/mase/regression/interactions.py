"""Interactions: pairs of coordinates that together change the response by more, or less, than the sum of both.

Nothing is evaluated for them: the rows are those of the regression. See `docs/mathematics.md`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtr, stdtrit

from mase.arrays import Floats, Ints
from mase.attribution import Interaction
from mase.regression.intercepts import centred, on_means
from mase.regression.problem import Sample
from mase.statistics import holm

__all__ = ["interactions"]

# All pairs of so many coordinates are tried, those of the largest coefficients: each pair more costs power.
_MOST_UNITS = 10
# The probability that any pair of a text is found although none interacts.
_LEVEL = 0.05
# The share of the variance of the responses that a pair must explain to matter.
_LEAST_SHARE = 0.01
# Residual degrees of freedom per coefficient, as in `mase.estimators.least_squares`.
_MIN_RESIDUAL_DOF = 0.5
# And at least so many: with fewer, HC3 errors of the pairs that were picked from the same rows are too small.
_LEAST_FREE = 30
_RANK_TOLERANCE = 1e-6
# Without errors, any score but 0 is certain.
_NO_ERROR = 1e-200


def interactions(sample: Sample, responses: Floats, gamma: Floats) -> tuple[Interaction, ...]:
    """Return the pairs of coordinates whose interaction in the responses `(n,)` is significant and matters.

    The pairs of the ten largest of the coefficients gamma `(p,)` are tried. Products of two coordinates, each minus its
    mean under the law of the row, are fitted together with all p coordinates by least squares. As the coins of a law
    are independent, such a product has no correlation with any function that lacks one of its coordinates. So its
    coefficient is a mean of differences of differences, whatever else is fitted. With few rows only the most
    significant pairs are fitted together.

    A pair is found if its coefficient differs from 0 at the 5 % level, with Holm's correction for all pairs that were
    tried, and if it explains at least 1 % of the variance of the responses. Found pairs are sorted by absolute score.
    There are none unless the sample has `laws` of independent coins, because other rows do not tell pairs apart.
    """
    if sample.laws is None or not sample.laws.independent:
        return ()
    strongest = np.sort(np.argsort(-np.abs(gamma), kind="stable")[:_MOST_UNITS])
    pairs = np.array(list(combinations(strongest, 2)), dtype=np.int64).reshape(-1, 2)
    found = _Rows.of(sample, responses).found(pairs)
    return tuple(sorted(found, key=lambda pair: -abs(pair.score)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows and laws with a share in their weight, as the rows of one regression without an intercept.

    Attributes
    ----------
    z, y
        Coordinates `(n, p)` and responses `(n,)` minus their means under the law of the row. Of mirrored rows there are
        the half sums of the responses.
    mains
        The columns of z that are fitted beside the products: none for mirrored rows, whose half sums do not depend on
        them.
    weights, law
        Weight of each row, and the index of its law `(n,)`.
    variance
        Of the responses under the laws.
    sampled
        Whether rows were drawn.
    """

    z: Floats
    y: Floats
    mains: Floats
    weights: Floats
    law: Ints
    variance: float
    sampled: bool

    @classmethod
    def of(cls, sample: Sample, responses: Floats) -> Self:
        """Return the rows of a sample that has laws."""
        assert sample.laws is not None
        law, row = np.nonzero(sample.laws.shares)
        weights = sample.weights[row] * sample.laws.shares[law, row]
        z = centred(sample.deviations[row], weights, law)
        y = centred(responses[row], weights, law)
        mains, variance = z, float(np.average(y**2, weights=weights))
        if sample.paired:
            z, weights, law = z[0::2], weights[0::2], law[0::2]
            mains, y = z[:, :0], (y[0::2] + y[1::2]) / 2
        return cls(z, y, mains, weights, law, variance, not sample.exhaustive)

    def found(self, pairs: Ints) -> Iterator[Interaction]:
        """Yield the interactions that are found among pairs of coordinates `(q, 2)`."""
        n_fitted = self._n_fitted(len(pairs))
        if not n_fitted or not self.variance:
            return
        products = centred(self.z[:, pairs[:, 0]] * self.z[:, pairs[:, 1]], self.weights, self.law)
        root = np.sqrt(self.weights)[:, None]
        mains = _orthonormal(root * self.mains)
        if mains is None:
            return
        basis, _ = mains
        y, left = _without(basis, root[:, 0] * self.y), _without(basis, root * products)
        chosen = _most_significant(left, y, n_fitted)
        fitted = _orthonormal(left[:, chosen])
        if fitted is None:
            return
        free = len(self.y) - len(np.unique(self.law)) - basis.shape[1] - len(chosen) if self.sampled else 1
        scores, errors, squares = self._estimates(basis, *fitted, y)
        # Pairs that were not fitted count among the tried ones.
        wrong = np.ones(len(pairs))
        wrong[: len(chosen)] = 2 * stdtr(free, -np.abs(scores) / np.maximum(errors, _NO_ERROR))
        widths = stdtrit(free, 1 - _LEVEL / 2 / len(pairs)) * errors
        shares = scores**2 * squares / (self.weights.sum() * self.variance)
        for index in np.flatnonzero((holm(wrong)[: len(chosen)] <= _LEVEL) & (shares >= _LEAST_SHARE)):
            first, second = pairs[chosen[index]].tolist()
            yield Interaction((first, second), *(one[index].item() for one in (scores, errors, widths, shares)))

    def _n_fitted(self, n_pairs: int) -> int:
        """Return how many of the pairs there are enough rows for."""
        if not self.sampled:
            return n_pairs
        p = int(self.mains.shape[1])
        free = len(self.y) - len(np.unique(self.law)) - p
        return max(0, min(n_pairs, free - _LEAST_FREE, int((free - _MIN_RESIDUAL_DOF * p) / (1 + _MIN_RESIDUAL_DOF))))

    def _estimates(self, mains: Floats, basis: Floats, lower: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the coefficients `(q,)` of columns with a basis and a factor, and their HC3 errors.

        The third array `(q,)` has the sum of the squares of what each column has that no other one has.
        """
        leverage = np.square(mains).sum(axis=1) + np.square(basis).sum(axis=1) + on_means(self.weights, self.law)
        residuals = _without(basis, y) / np.maximum(1 - leverage, 1e-12)
        inverse = solve_triangular(lower, basis.T, lower=True, trans="T").T
        errors = np.sqrt(np.square(inverse * residuals[:, None]).sum(axis=0)) if self.sampled else 0.0 * lower[0]
        return inverse.T @ y, errors, 1 / np.square(inverse).sum(axis=0)


def _orthonormal(columns: Floats) -> tuple[Floats, Floats] | None:
    """Return an orthonormal basis `(n, k)` of columns and their lower factor `(k, k)`; None if they are dependent."""
    gram = columns.T @ columns
    try:
        lower = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    if (np.diag(lower) <= _RANK_TOLERANCE * np.sqrt(np.diag(gram))).any():
        return None
    return np.asarray(solve_triangular(lower, columns.T, lower=True).T), np.asarray(lower)


def _without(basis: Floats, values: Floats) -> Floats:
    """Return the part of values `(n,)` or `(n, q)` that an orthonormal basis `(n, k)` does not span."""
    return np.asarray(values - basis @ (basis.T @ values))


def _most_significant(columns: Floats, y: Floats, k: int) -> Ints:
    """Return the k columns `(n, q)` whose covariances with y `(n,)` are largest relative to their errors."""
    errors = np.sqrt(np.square(columns).T @ np.square(y))
    return np.argsort(-np.abs(columns.T @ y) / np.maximum(errors, _NO_ERROR), kind="stable")[:k]
