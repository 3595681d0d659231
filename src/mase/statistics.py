"""Means over texts with t intervals, tests of one and of two means, and corrections for many tests.

Arrays `(m,)` have one entry per word.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from mase.arrays import Floats, equal_fields

__all__ = ["LEVEL", "Mean", "critical_value", "critical_z", "holm", "passing", "q_values"]

LEVEL = 0.95
# A mean is known to this share of itself at best: what is less differs by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Mean:
    """Estimated means `(m,)` with their squared standard errors `(m,)` and degrees of freedom `(m,)`."""

    value: Floats
    squared_error: Floats
    freedom: Floats

    __eq__ = equal_fields

    @classmethod
    def of(cls, n: Floats, total: Floats, total_of_squares: Floats) -> Self:
        """Return the means of n numbers each, given their sums and the sums of their squares, all `(m,)`.

        The squared error is NaN for fewer than two numbers, and otherwise at least that of rounding.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            value = total / n
            # Of numbers that are all equal, rounding may leave the sum of squares smaller than that of the mean.
            squared_error = (total_of_squares - n * value**2) / (n - 1) / n
            least = (_ROUNDING * value) ** 2
            return cls(value, np.where(n >= 2, np.maximum(squared_error, least), np.nan), np.maximum(n - 1.0, 1.0))

    def __sub__(self, other: Self) -> "Mean":
        """Return differences of independent means, with Welch's degrees of freedom (B. L. Welch, Biometrika 1947)."""
        squared = self.squared_error + other.squared_error
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = self.squared_error**2 / self.freedom + other.squared_error**2 / other.freedom
            freedom = np.where(parts > 0, squared**2 / parts, np.minimum(self.freedom, other.freedom))
        return Mean(self.value - other.value, squared, freedom)

    def plus(self, other: Self) -> "Mean":
        """Return sums of means that may depend on each other; their standard errors add up to an upper bound."""
        error = np.sqrt(self.squared_error) + np.sqrt(other.squared_error)
        return Mean(self.value + other.value, error**2, np.minimum(self.freedom, other.freedom))

    def interval(self) -> tuple[Floats, Floats]:
        """Return the bounds `(m,)` of the 95 % intervals of Student's t distribution; NaN without a standard error."""
        half = stdtrit(self.freedom, (1 + LEVEL) / 2) * np.sqrt(self.squared_error)
        return self.value - half, self.value + half

    def p_values(self, sign: int = 0) -> Floats:
        """Return the p-values `(m,)` of the hypothesis that a mean is 0; 1 without a standard error.

        They are two-sided, or with the `sign` 1 (or -1) those against means above (below) 0 alone.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            t = self.value / np.sqrt(self.squared_error)
        known = ~np.isnan(t)
        tail = stdtr(self.freedom, -np.where(known, sign * t if sign else np.abs(t), 0.0))
        return np.asarray(np.where(known & ~np.isnan(tail), tail if sign else 2 * tail, 1.0), dtype=np.float64)


def passing(*means: Mean, sign: int = 0) -> Floats:
    """Return p-values `(m,)` of the hypothesis that not all of these means differ from 0 in the same direction.

    It is the largest of their p-values (the intersection-union test: R. L. Berger, Technometrics 1982), and 1 if their
    signs differ. With the `sign` 1 (or -1), that direction is up (or down), whichever the means have: a list of one
    direction has its false discovery rate only if all tests were of that direction.
    """
    if sign:
        return np.asarray(np.max([mean.p_values(sign) for mean in means], axis=0))
    signs = np.sign([mean.value for mean in means])
    agree = np.all(signs == signs[0], axis=0)
    return np.where(agree, np.max([mean.p_values() for mean in means], axis=0), 1.0)


def q_values(p: Floats) -> Floats:
    """Return the q-values `(m,)` of p-values `(m,)` by Y. Benjamini and Y. Hochberg (JRSS B 1995).

    A list of all entries with a q-value of at most r has a false discovery rate of at most r.

    Examples
    --------
    >>> q_values(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.03]
    """
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(scaled[::-1])[::-1]  # at most the largest p-value, the last of them
    return q


def holm(p: Floats) -> Floats:
    """Return the p-values `(m,)` adjusted for m tests by S. Holm (Scandinavian Journal of Statistics 1979).

    Of all hypotheses that are true, any at all is rejected at the level a with a probability of at most a.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)


def critical_value(rate: float) -> float:
    """Return the size of a standard normal deviate below which no test can be significant, however many are."""
    return float(-ndtri(rate / 2))


def critical_z(candidates: Iterable[Floats], n_candidates: int, m: int, rate: float) -> float:
    """Return the least size of a standard normal deviate that is significant among m; infinity if none is.

    The procedure of Benjamini and Hochberg as in `q_values`, for tests that do not fit into memory.

    Parameters
    ----------
    candidates
        The sizes of at least `critical_value`, in ascending order, in batches.
    n_candidates
        How many these are.
    m
        Number of all tests.
    rate
        False discovery rate.
    """
    left = n_candidates
    for sizes in candidates:
        allowed = rate * np.arange(left, left - len(sizes), -1) / m
        found = np.flatnonzero(2 * ndtr(-sizes) <= allowed)
        if len(found):
            return float(sizes[found[0]])
        left -= len(sizes)
    return float("inf")
