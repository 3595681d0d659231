"""Bootstrap intervals of means over texts."""

from math import nan, sqrt

import numpy as np
from scipy.special import ndtri, stdtrit

from mase.arrays import Floats

__all__ = ["LEVEL", "bootstrap_intervals"]

# Confidence level of all intervals.
LEVEL = 0.95

_RESAMPLES, _CHUNK = 2000, 100


def bootstrap_intervals(table: Floats, seed: int) -> list[tuple[float, float] | None]:
    """Return the bootstrap percentile interval of the mean of each column of `table` `(n, m)`.

    A bootstrap of few values is too narrow: its means vary by (n - 1) / n of the estimated variance, and their
    quantiles are those of a known variance. So the bounds are moved away from the mean by sqrt(n / (n - 1)) t / z, the
    ratio of Student's interval to that of a bootstrap of normal values (Hesterberg, American Statistician 69, 2015):
    by 2.7 for 3 values, 1.22 for 10 and 1.02 for 100.

    Only texts with a value (not NaN) are resampled. A single value has NaN bounds; a column of NaN has no interval.
    """
    tail = (1 - LEVEL) / 2
    intervals: list[tuple[float, float] | None] = [None] * table.shape[1]
    known = ~np.isnan(table)
    patterns, pattern_of = np.unique(known, axis=1, return_inverse=True)
    for index, rows in enumerate(patterns.T):
        columns = np.flatnonzero(pattern_of.reshape(-1) == index)
        if rows.any():
            bounds = np.full((2, len(columns)), nan)
            if rows.sum() > 1:
                values = table[np.ix_(rows, columns)]
                means, n = values.mean(axis=0), len(values)
                wider = sqrt(n / (n - 1)) * float(stdtrit(n - 1, 1 - tail) / ndtri(1 - tail))
                bounds = np.quantile(_resampled(values, seed), [tail, 1 - tail], axis=0)
                bounds = means + wider * (bounds - means)
            for column, (low, high) in zip(columns, bounds.T.tolist(), strict=True):
                intervals[column] = (low, high)
    return intervals


def _resampled(values: Floats, seed: int) -> Floats:
    """Return the means `(_RESAMPLES, m)` of the columns of `values` `(n, m)` over texts drawn with replacement.

    They are a matrix product with the number of times that each text was drawn, `_CHUNK` at a time to bound the memory.
    """
    rng, n = np.random.default_rng(seed), len(values)
    means = np.empty((_RESAMPLES, values.shape[1]))
    for start in range(0, _RESAMPLES, _CHUNK):
        drawn = rng.integers(n, size=(_CHUNK, n)) + n * np.arange(_CHUNK)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=_CHUNK * n).reshape(_CHUNK, n)
        means[start : start + _CHUNK] = counts @ values / n
    return means
