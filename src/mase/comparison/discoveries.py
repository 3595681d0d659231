"""The procedure of Benjamini and Hochberg: which of many tests are significant at a false discovery rate."""

from collections.abc import Iterable

import numpy as np
from scipy.special import ndtr, ndtri

from mase.arrays import Bools, Floats

__all__ = ["critical_value", "critical_z", "significant"]


def significant(p_values: Floats, rate: float) -> Bools:
    """Return which of the p-values `(m,)` are significant at a false discovery rate.

    Benjamini and Hochberg, JRSS B 57 (1995), p. 289.

    Examples
    --------
    >>> significant(np.array([0.01, 0.04, 0.03, 0.5]), 0.05).tolist()
    [True, False, False, False]
    """
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= rate * np.arange(1, len(ordered) + 1) / max(len(ordered), 1))
    return np.asarray(p_values <= (ordered[below[-1]] if len(below) else -1.0))


def critical_value(rate: float) -> float:
    """Return the size of a standard normal deviate below which no test can be significant, however many are."""
    return float(-ndtri(rate / 2))


def critical_z(candidates: Iterable[Floats], n_candidates: int, m: int, rate: float) -> float:
    """Return the least size of a standard normal deviate that is significant among m; infinity if none is.

    The same procedure for tests that do not fit into memory.

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
