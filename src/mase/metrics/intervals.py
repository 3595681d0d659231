"""Means over texts with 95 % intervals: for one method, and for the difference of two methods on the same texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeVar

import numpy as np
from scipy.special import bdtr, ndtri

from mase.arrays import Bools, Floats, as_floats
from mase.errors import NonFiniteError, OptionError, ShapeError
from mase.metrics.bootstrap import LEVEL, bootstrap_intervals
from mase.metrics.permutation import permutation_p_values

__all__ = [
    "Difference",
    "Summary",
    "mcnemar",
    "paired_mean",
    "paired_means",
    "paired_share",
    "summaries_of_means",
    "summary_of_mean",
    "summary_of_share",
    "wilson",
]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Summary:
    """A mean over n texts with its interval, and the standard deviation of the means of batches.

    `sd` is None for fewer than two batches. The bounds of a bootstrap are NaN for a single value.
    """

    mean: float
    low: float
    high: float
    n: int
    sd: float | None
    n_batches: int


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the first method minus mean of the second on the same n texts, with its interval as in `Summary`.

    `p_value` is two-sided: of McNemar's exact test for shares, and of `permutation_p_values` for other means.
    """

    mean: float
    low: float
    high: float
    n: int
    p_value: float


def wilson(count: int, n: int) -> tuple[float, float]:
    """Return Wilson's score interval of the share `count` / `n` at 95 % (E. B. Wilson, JASA 1927).

    Raises
    ------
    OptionError
        If n is 0, or `count` is not in 0..n.

    Examples
    --------
    >>> [round(bound, 3) for bound in wilson(95, 1000)]
    [0.078, 0.115]
    """
    if not 0 <= count <= n or n == 0:
        raise OptionError(f"count is {count} of {n}, expected at least one text and a count from 0 to n")
    z = float(ndtri(0.5 + LEVEL / 2))
    share, slack = count / n, z * z / n
    middle = (share + slack / 2) / (1 + slack)
    half = z / (1 + slack) * sqrt(share * (1 - share) / n + slack / (4 * n))
    # The interval must include the observed share in spite of rounding: at 0 and 1 the bound is exact.
    return (0.0 if count == 0 else middle - half, 1.0 if count == n else middle + half)


def summary_of_share(hits: Any, batches: Sequence[Sequence[int]] | None = None) -> Summary:
    """Return the share of true `hits` `(n,)` with Wilson's interval.

    Parameters
    ----------
    hits
        One boolean per text. For Delta Accuracy it says whether the prediction flips for one k (see `flips`).
    batches
        Indices of the texts of each batch, for the standard deviation over batches. A text may be in several batches.

    Raises
    ------
    OptionError
        If there is no text, or an empty batch.
    ShapeError
        If `hits` is not one-dimensional.
    """
    values = _booleans(hits, "hits")
    low, high = wilson(int(values.sum()), len(values))
    return Summary(float(values.mean()), low, high, len(values), *_over_batches(values.astype(np.float64), batches))


def summary_of_mean(values: Any, batches: Sequence[Sequence[int]] | None = None, seed: int = 0) -> Summary:
    """Return the mean of `values` `(n,)` with the percentile interval of a bootstrap over texts; NaN is left out.

    It is widened for few texts (see `mase.metrics.bootstrap`). The bounds of a single value are NaN.

    Raises
    ------
    OptionError
        If there is no value, or an empty batch.
    """
    (summary,) = summaries_of_means(np.asarray(values, dtype=np.float64)[:, None], batches, seed)
    return _existing(summary)


def summaries_of_means(
    values: Any, batches: Sequence[Sequence[int]] | None = None, seed: int = 0
) -> tuple[Summary | None, ...]:
    """Return `summary_of_mean` for each of the m columns of `values` `(n, m)`, with the same resamples of the texts.

    A column without any value gets None.

    Raises
    ------
    OptionError
        If a batch is empty.
    NonFiniteError
        If a value is infinite.
    """
    table = np.asarray(values, dtype=np.float64)
    as_floats(np.where(np.isnan(table), 0.0, table), (None, None), "values")
    summaries: list[Summary | None] = []
    for column, interval in zip(table.T, bootstrap_intervals(table, seed), strict=True):
        known = column[~np.isnan(column)]
        spread = _over_batches(column, batches)
        summaries.append(Summary(float(known.mean()), *interval, len(known), *spread) if interval is not None else None)
    return tuple(summaries)


def paired_share(first: Any, second: Any) -> Difference:
    """Return the difference of two shares, first `(n,)` minus second `(n,)`, on the same n texts.

    The interval is Newcombe's square-and-add interval (Statistics in Medicine 17, 1998, p. 2635, method 10), from
    Wilson's intervals of the two shares and their correlation phi.

    Raises
    ------
    ShapeError
        If they differ in length.
    OptionError
        If there is no text.
    """
    hits, other_hits = _booleans(first, "first"), _booleans(second, "second")
    p_value = mcnemar(hits, other_hits)
    n, a, b = len(hits), int(hits.sum()), int(other_hits.sum())
    (low_1, high_1), (low_2, high_2) = wilson(a, n), wilson(b, n)
    p, q, phi = a / n, b / n, _phi(hits, other_hits)
    below = (p - low_1) ** 2 - 2 * phi * (p - low_1) * (high_2 - q) + (high_2 - q) ** 2
    above = (high_1 - p) ** 2 - 2 * phi * (high_1 - p) * (q - low_2) + (q - low_2) ** 2
    return Difference(p - q, p - q - sqrt(max(below, 0)), p - q + sqrt(max(above, 0)), n, p_value)


def mcnemar(first: Bools, second: Bools) -> float:
    """Return the p-value of McNemar's exact test that two shares `(n,)`, `(n,)` on the same texts are equal.

    Under the null hypothesis, each of the texts on which the two disagree is a win of either with probability 1/2.

    Raises
    ------
    ShapeError
        If they are not booleans, or differ in length.

    Examples
    --------
    >>> first = np.array([True] * 9 + [False] * 3)
    >>> mcnemar(first, np.array([False] * 9 + [True] * 1 + [False] * 2))
    0.021484375
    """
    first, second = _paired(_booleans(first, "first"), _booleans(second, "second"))
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    if wins + losses == 0:
        return 1.0
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def paired_mean(first: Any, second: Any, seed: int = 0) -> Difference:
    """Return the difference of two means, first `(n,)` minus second `(n,)`, with a bootstrap interval over texts.

    Texts with NaN in either are left out.

    Raises
    ------
    ShapeError
        If they differ in length.
    NonFiniteError
        If a value is infinite.
    OptionError
        If no text is left.
    """
    values, other_values = _paired(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    for name, some in (("first", values), ("second", other_values)):
        if np.isinf(some).any():
            raise NonFiniteError(f"{name} has an infinite value, expected finite numbers, or NaN for texts without one")
    (difference,) = paired_means((values - other_values)[:, None], seed)
    return _existing(difference)


def paired_means(differences: Any, seed: int = 0) -> tuple[Difference | None, ...]:
    """Return `paired_mean` for each of the m columns of `differences` `(n, m)`, with the same resamples of the texts.

    The differences are first minus second. A column without any value gets None.

    Raises
    ------
    NonFiniteError
        If a value is infinite.
    """
    summaries = summaries_of_means(differences, None, seed)
    pairs = zip(summaries, permutation_p_values(differences, seed).tolist(), strict=True)
    return tuple(None if mean is None else Difference(mean.mean, mean.low, mean.high, mean.n, p) for mean, p in pairs)


def _booleans(hits: Any, name: str) -> Bools:
    values = np.asarray(hits)
    if values.ndim != 1 or values.dtype != np.bool_:
        raise ShapeError(f"{name} is {values.dtype} of shape {values.shape}, expected booleans of shape (n,)")
    return values


def _paired(first: Any, second: Any) -> tuple[Any, Any]:
    if first.shape != second.shape:
        raise ShapeError(f"first has shape {first.shape}, second {second.shape}, expected one value of each per text")
    return first, second


def _phi(first: Bools, second: Bools) -> float:
    """Return Newcombe's phi: the correlation of two booleans, with a continuity correction if it is positive."""
    n, both, neither = len(first), int((first & second).sum()), int((~first & ~second).sum())
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    product = both * neither - only_first * only_second
    return (max(product - n / 2, 0.0) if product > 0 else product) / sqrt(margins)


def _over_batches(values: Floats, batches: Sequence[Sequence[int]] | None) -> tuple[float | None, int]:
    """Return the standard deviation of the means (with n - 1) of the batches with a value, and their number."""
    if batches is None:
        return None, 1
    if not all(len(batch) for batch in batches):
        raise OptionError("a batch is empty, expected at least one text in each")
    means = [values[np.asarray(batch)] for batch in batches]
    known = [float(batch[~np.isnan(batch)].mean()) for batch in means if not np.isnan(batch).all()]
    return (float(np.std(known, ddof=1)) if len(known) > 1 else None), len(known)


def _existing(result: R | None) -> R:
    if result is None:
        raise OptionError("there is no value to average, expected at least one text")
    return result
