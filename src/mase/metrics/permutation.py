"""A paired permutation test of means, for two methods on the same texts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len
from scipy.optimize import brentq
from scipy.special import ndtr

from mase.arrays import Floats, Ints
from mase.errors import ShapeError

__all__ = ["permutation_p_values"]

# Of up to so many texts that differ, all patterns are tried.
_MOST_TEXTS = 16
_DRAWS, _CHUNK = 9_999, 1_000
# Up to so many possible sums, and so many of them times different sizes, all sums are counted.
_MOST_SUMS, _MOST_WORK = 200_000, 4_000_000
# The approximation has to be within so many standard errors of the share among random patterns.
_AGREES = 4.0
# Below this share of the sum of sizes, two sums differ by rounding alone.
_ROUNDING = 1e-12


def permutation_p_values(differences: Any, seed: int = 0) -> Floats:
    """Return the two-sided p-values `(m,)` of the hypothesis that two methods are alike, from differences `(n, m)`.

    If it holds, the two values of a text could as well be exchanged, which changes the sign of their difference. The
    p-value is the share of the patterns of signs for which the sum of the differences is at least as large as the
    observed one (E. J. G. Pitman 1937; E. S. Edgington, Randomization Tests, 1980). Texts without a difference have no
    part in it.

    The share is exact for up to 16 texts that differ, and for differences that are multiples of one number, such as
    those of Delta Accuracy: the patterns of each sum are then counted. For differences of 0 and 1, this is McNemar's
    exact test. Otherwise it is the saddlepoint approximation of the tail (J. Robinson, JRSS B 1982). It is compared
    with the share among 9,999 random patterns, which takes its place where they disagree. If only a few of all patterns
    have so large a sum, the approximation may be as small as half of the share; p-values are below 1e-4 then.

    Parameters
    ----------
    differences
        First minus second value of each text; NaN is left out.
    seed
        Seed of the random patterns.

    Raises
    ------
    ShapeError
        If it is no table, or has infinite values.

    Examples
    --------
    >>> permutation_p_values([[0.1, 0.1], [0.2, 0.2], [0.4, -0.4]]).tolist()
    [0.25, 1.0]
    """
    table = np.asarray(differences, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ShapeError(f"differences have the shape {table.shape}, expected finite numbers for n texts and m columns")
    table = np.where(np.isnan(table), 0.0, table)  # the sign of 0 changes no sum
    found = np.array([_exact(column[column != 0]) for column in table.T], dtype=np.float64)
    others = np.flatnonzero(np.isnan(found))
    if len(others):
        found[others] = _approximate(table[:, others], seed)
    return found


def _exact(column: Floats) -> float:
    """Return the p-value of differences `(n,)` that are not 0; NaN if there are too many patterns, and sums."""
    n = len(column)
    if n <= _MOST_TEXTS:
        sums = np.zeros(1)
        for size in np.abs(column):
            sums = np.concatenate([sums + size, sums - size])
        return float((np.abs(sums) >= _at_least(column)).mean())
    sizes = _multiples(np.abs(column))
    if sizes is None:
        return np.nan
    most, observed = int(sizes.sum()), abs(int(np.sign(column) @ sizes))
    if observed in {0, most}:
        return 1.0 if not observed else 2.0 ** (1 - n)
    # Signs so likely positive that the observed sum is the expected one: a small share is known to as many digits as a
    # large one. The characteristic function of their sum is the product of those of the terms.
    largest = sizes.max()
    relative = sizes / largest
    t = _tilt(relative, observed / largest)
    length = next_fast_len(2 * most + 1, real=True)
    turns, product = np.arange(length // 2 + 1) / length, np.ones(1)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        angle = 2 * np.pi * (size * turns % 1)
        product = product * (np.cos(angle) - 1j * np.tanh(t * size / largest) * np.sin(angle)) ** count
    shares = irfft(product, length)[observed : most + 1]
    above = np.arange(len(shares)) / largest
    p = 2 * np.exp(_cumulant(relative, t) - t * observed / largest) * (shares @ np.exp(-t * above))
    return min(float(p), 1.0)  # rounding may exceed it


def _multiples(sizes: Floats) -> Ints | None:
    """Return sizes `(n,)` as multiples of the largest number that divides all; None if these would be too large."""
    rounding, divisor = 1e-9 * sizes.max(), 0.0
    for size in np.unique(sizes):
        rest = size
        while rest > rounding:  # Euclid's algorithm
            divisor, rest = rest, divisor % rest
            rest = 0.0 if divisor - rest < rounding else rest
        if divisor * _MOST_SUMS < sizes.max():
            return None
    multiples = np.rint(sizes / divisor)
    most = 2 * multiples.sum()
    if most > _MOST_SUMS or most * len(np.unique(multiples)) > _MOST_WORK:
        return None
    return multiples.astype(np.int64) if np.abs(multiples * divisor - sizes).max() <= rounding else None


def _approximate(table: Floats, seed: int) -> Floats:
    """Return the p-values `(m,)` of differences `(n, m)`."""
    rng, at_least = np.random.default_rng(seed), _at_least(table)
    count = sum((np.abs(signs @ table) >= at_least).sum(axis=0) for signs in _patterns(rng, len(table)))
    drawn = np.asarray((count + 1) / (_DRAWS + 1), dtype=np.float64)
    found = np.array([_tail(column[column != 0]) for column in table.T])
    error = np.sqrt(drawn * (1 - drawn) / _DRAWS)
    return np.where(np.abs(found - drawn) <= _AGREES * error + 1 / _DRAWS, found, drawn)


def _patterns(rng: np.random.Generator, n: int) -> Iterator[Floats]:
    """Yield random patterns of n signs, some at a time, which bounds the memory."""
    for start in range(0, _DRAWS, _CHUNK):
        yield (1 - 2 * rng.integers(2, size=(min(_CHUNK, _DRAWS - start), n), dtype=np.int8)).astype(np.float64)


def _tail(column: Floats) -> float:
    """Return the p-value of differences `(n,)` by the formula of Lugannani and Rice for the tail of a sum."""
    sizes = np.abs(column) / np.abs(column).max()
    observed, least = abs(float(np.sign(column) @ sizes)), 2.0 ** (1 - len(column))
    if observed >= sizes.sum() * (1 - _ROUNDING):
        return least
    t = _tilt(sizes, observed)
    w = np.sqrt(max(2 * (t * observed - _cumulant(sizes, t)), 0.0))
    falling = np.exp(-2 * sizes * t)
    u = t * np.sqrt(float((sizes**2 * 4 * falling / (1 + falling) ** 2).sum()))
    if w < 1e-3:  # both terms below are large there, and nearly equal
        return float(2 * ndtr(-w))
    return float(np.clip(2 * (ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w)), least, 1.0))


def _tilt(sizes: Floats, observed: float) -> float:
    """Return the t for which signs of log-odds 2 t sizes `(n,)` give an expected sum of `observed`, 0 to below all."""
    high = 1.0
    while sizes @ np.tanh(sizes * high) < observed:
        high *= 2
    return float(brentq(lambda one: float(sizes @ np.tanh(sizes * one)) - observed, 0, high))


def _cumulant(sizes: Floats, t: float) -> float:
    """Return the logarithm of the mean of exp(t sum) over all patterns of signs of sizes `(n,)`."""
    return float(np.logaddexp(sizes * t, -sizes * t).sum() - len(sizes) * np.log(2))


def _at_least(values: Floats) -> Floats:
    """Return the size from which on a sum counts as that of the values `(n,)` or `(n, m)`."""
    return np.asarray(np.abs(values.sum(axis=0)) - _ROUNDING * np.abs(values).sum(axis=0))
