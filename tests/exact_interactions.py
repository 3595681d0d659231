"""Exact interaction indices of a function on all subsets of its coordinates, by brute force."""

from itertools import combinations
from math import comb

import numpy as np

__all__ = ["banzhaf", "shapley"]


def banzhaf(y, p):
    """Return the Banzhaf interaction of each pair: the mean over all subsets of the other coordinates."""
    return {pair: float(differences.mean()) for pair, differences in _differences(y, p)}


def shapley(y, p):
    """Return the Shapley interaction of each pair: the mean over sizes of the subsets, and within each size."""
    found = {}
    for pair, differences in _differences(y, p):
        sizes = np.indices(differences.shape).sum(axis=0)
        weights = np.array([1 / ((p - 1) * comb(p - 2, size)) for size in range(p - 1)])
        found[pair] = float((weights[sizes] * differences).sum())
    return found


def _differences(y, p):
    """Yield each pair with the differences of differences of the function, by the subsets of the other coordinates."""
    table = y.reshape((2,) * p).transpose()
    for i, j in combinations(range(p), 2):
        yield (i, j), np.diff(np.diff(table, axis=i), axis=j)
