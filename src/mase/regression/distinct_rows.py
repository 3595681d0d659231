"""The different rows of zeros and ones of a problem, with what is known of the responses to them."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.regression.anova import Coefficients, InteractionKernel
from mase.regression.laws import Laws
from mase.regression.problem import Problem

__all__ = ["DistinctRows", "numbered"]

# Variance of rounding, relative to that of the responses, per row.
_ROUNDING = 1e-13
# The same of the kernel of interactions, before it is divided by its variance.
_CANCELLED = 4e-15
# Squares of centred responses below this share of those of the responses are rounding.
_CONSTANT = 1e-24


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The different rows, as signs `(u, p)`, and what is known of the responses to them.

    Attributes
    ----------
    signs, target
        See above, and the coefficients to be estimated.
    y
        The mean response to each row `(u,)`, minus the mean over rows.
    total
        Sum of the squares of y.
    counts
        How often each row was asked `(u,)`.
    within
        The variance of different answers to one row; 0 if none was asked twice.
    variance
        Of all responses.
    group
        The different row that each row `(n,)` is.
    constant
        Whether all responses are the same up to rounding.
    """

    signs: Floats
    target: Coefficients
    y: Floats
    total: float
    counts: Ints
    within: float
    variance: float
    group: Ints
    constant: bool

    @classmethod
    def of(cls, problem: Problem, laws: Laws) -> Self:
        """Return the different rows of a problem, of which all have the same weight."""
        first, group, counts = numbered(problem.z)
        signs, u = _signs(problem.z)[first], len(first)
        means = np.bincount(group, problem.y) / counts
        within = float(np.sum((problem.y - means[group]) ** 2)) / max(problem.n - u, 1)
        variance = max(float(problem.y.var()), np.finfo(np.float64).tiny)
        y = means - means.mean()
        total = float(y @ y)
        constant = total <= _CONSTANT * float(problem.y @ problem.y)
        return cls(signs, Coefficients.of(laws), y, total, counts, within, variance, group, constant)

    @property
    def noisy(self) -> bool:
        """Whether answers to one row differ by more than rounding."""
        return self.within > _ROUNDING * self.variance

    def kernel(self, interactions: InteractionKernel, noise: float) -> Floats:
        """Return the covariance `(u, u)` of what is not linear in the mean responses, with noise as in `Prior`."""
        kernel, u = interactions.gram(self.signs), len(self.y)
        # Where one coordinate has nearly all weight the kernel is a small difference of large numbers.
        cancelled = u * _CANCELLED * float(np.exp(-interactions.log_norm))
        kernel[np.diag_indices(u)] += np.maximum(noise / self.counts, u * _ROUNDING) + cancelled
        return kernel


def numbered(z: Floats) -> tuple[Ints, Ints, Ints]:
    """Return the first of each different row `(u,)` of regressors `(n, p)` with two values, sorted by rows.

    There follow the different row that each row is `(n,)`, and how often it occurs `(u,)`.
    """
    bits = np.packbits(_signs(z) > 0, axis=1)
    whole = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, group, counts = np.unique(whole, return_index=True, return_inverse=True, return_counts=True)
    return first, group, counts


def _signs(z: Floats) -> Floats:
    """Return the signs `(n, p)` of regressors with two values."""
    return np.asarray(np.sign(z - (z.min() + z.max()) / 2))
