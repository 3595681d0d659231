"""Regressions with several intercepts: values minus the means of their groups of rows."""

import numpy as np

from mase.arrays import Floats, Ints

__all__ = ["centred", "on_means"]


def centred(values: Floats, weights: Floats, groups: Ints | None = None) -> Floats:
    """Return values `(n,)` or `(n, p)` of rows minus their weighted means in each group `(n,)`, by default of all."""
    if groups is None:
        return np.asarray(values - (weights / weights.sum()) @ values)
    numbers, index = np.unique(groups, return_inverse=True)
    shares = np.equal.outer(np.arange(len(numbers)), index) * weights
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray(values - (shares @ values)[index])


def on_means(weights: Floats, groups: Ints | None = None) -> Floats:
    """Return the leverage `(n,)` of each row on the mean of its group: its share of the weights `(n,)`."""
    if groups is None:
        return np.asarray(weights / weights.sum())
    return np.asarray(weights / np.bincount(groups, weights)[groups])
