"""A paired permutation test of means, for two methods on the same texts."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from mase.arrays import Floats

__all__ = ["permutation_p_values"]

_DRAWS, _CHUNK = 9_999, 1_000
# Below this share of the sum of sizes, two sums differ by rounding alone.
_ROUNDING = 1e-12


def permutation_p_values(differences: Any, seed: int = 0) -> Floats:
    """Return the two-sided p-values `(m,)` of the hypothesis that two methods are alike, from differences `(n, m)`.

    If it holds, the two values of a text could as well be exchanged, which changes the sign of their difference. The
    p-value is the share of the patterns of signs for which the sum of the differences is at least as large as the
    observed one (E. J. G. Pitman 1937; E. S. Edgington, Randomization Tests, 1980). All 2**n patterns are tried for up
    to 13 texts, and otherwise 9,999 random ones, the same for all columns; then the p-value is at least 0.0001. For
    differences of 0 and 1, this is McNemar's exact test.

    Parameters
    ----------
    differences
        First minus second value of each text; NaN is left out.
    seed
        Seed of the random patterns.

    Examples
    --------
    >>> permutation_p_values([[0.1, 0.1], [0.2, 0.2], [0.4, -0.4]]).tolist()
    [0.25, 1.0]
    """
    table = np.asarray(differences, dtype=np.float64)
    table = np.where(np.isnan(table), 0.0, table)  # the sign of 0 changes no sum
    n = len(table)
    at_least = np.abs(table.sum(axis=0)) - _ROUNDING * np.abs(table).sum(axis=0)
    is_exact = 2**n <= _DRAWS
    count = np.zeros(table.shape[1], dtype=np.int64)
    for signs in [_every(n)] if is_exact else _drawn(n, seed):
        count += (np.abs(signs @ table) >= at_least).sum(axis=0)
    p = count / 2**n if is_exact else (count + 1) / (_DRAWS + 1)
    return np.asarray(p, dtype=np.float64)


def _every(n: int) -> Floats:
    """Return all patterns of n signs `(2**n, n)`."""
    return (1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)).astype(np.float64)


def _drawn(n: int, seed: int) -> Iterator[Floats]:
    """Yield random patterns of n signs, some at a time, which bounds the memory."""
    rng = np.random.default_rng(seed)
    for start in range(0, _DRAWS, _CHUNK):
        yield (1 - 2 * rng.integers(2, size=(min(_CHUNK, _DRAWS - start), n), dtype=np.int8)).astype(np.float64)
