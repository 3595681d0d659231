"""Means over texts: intervals, bootstrap, permutation tests and the false discovery rate."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, Self, TypeVar

import numpy as np
from scipy.fft import irfft, next_fast_len
from scipy.optimize import brentq
from scipy.special import bdtr, ndtr, ndtri, stdtr, stdtrit

from mase.arrays import Bools, Floats, Ints, as_floats, equal_fields
from mase.defaults import is_integer
from mase.errors import NonFiniteError, OptionError, ShapeError

LEVEL = 0.95

# A number is known to this share of itself at best: what is less differs by rounding.
_STATISTICS_ROUNDING = 1e-9


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
            least = (_STATISTICS_ROUNDING * value) ** 2
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
        result = np.flatnonzero(2 * ndtr(-sizes) <= allowed)
        if len(result):
            return float(sizes[result[0]])
        left -= len(sizes)
    return float("inf")


_RESAMPLES, _BOOTSTRAP_CHUNK = 2000, 100


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

    They are a matrix product with the number of times that each text was drawn, `_BOOTSTRAP_CHUNK` at a time to bound
    the memory.
    """
    rng, n = np.random.default_rng(seed), len(values)
    means = np.empty((_RESAMPLES, values.shape[1]))
    for start in range(0, _RESAMPLES, _BOOTSTRAP_CHUNK):
        drawn = rng.integers(n, size=(_BOOTSTRAP_CHUNK, n)) + n * np.arange(_BOOTSTRAP_CHUNK)[:, None]
        counts = np.bincount(drawn.reshape(-1), minlength=_BOOTSTRAP_CHUNK * n).reshape(_BOOTSTRAP_CHUNK, n)
        means[start : start + _BOOTSTRAP_CHUNK] = counts @ values / n
    return means


# Of up to so many texts that differ, all patterns are tried.
_MOST_TEXTS = 16
_DRAWS, _PERMUTATION_CHUNK = 9_999, 1_000

# Up to so many possible sums, and so many of them times different sizes, all sums are counted.
_MOST_SUMS, _MOST_WORK = 200_000, 4_000_000

# The approximation has to be within so many standard errors of the share among random patterns.
_AGREES = 4.0

# Below this share of the sum of sizes, two sums differ by rounding alone.
_PERMUTATION_ROUNDING = 1e-12


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

    Examples
    --------
    >>> permutation_p_values([[0.1, 0.1], [0.2, 0.2], [0.4, -0.4]]).tolist()
    [0.25, 1.0]
    """
    table = np.asarray(differences, dtype=np.float64)
    if table.ndim != 2 or np.isinf(table).any():
        raise ShapeError(f"differences have the shape {table.shape}, expected finite numbers for n texts and m columns")
    table = np.where(np.isnan(table), 0.0, table)  # the sign of 0 changes no sum
    result = np.array([_exact(column[column != 0]) for column in table.T], dtype=np.float64)
    others = np.flatnonzero(np.isnan(result))
    if len(others):
        result[others] = _approximate(table[:, others], seed)
    return result


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
    result = np.array([_tail(column[column != 0]) for column in table.T])
    error = np.sqrt(drawn * (1 - drawn) / _DRAWS)
    return np.where(np.abs(result - drawn) <= _AGREES * error + 1 / _DRAWS, result, drawn)


def _patterns(rng: np.random.Generator, n: int) -> Iterator[Floats]:
    """Yield random patterns of n signs, some at a time, which bounds the memory."""
    for start in range(0, _DRAWS, _PERMUTATION_CHUNK):
        yield (1 - 2 * rng.integers(2, size=(min(_PERMUTATION_CHUNK, _DRAWS - start), n), dtype=np.int8)).astype(
            np.float64
        )


def _tail(column: Floats) -> float:
    """Return the p-value of differences `(n,)` by the formula of Lugannani and Rice for the tail of a sum."""
    sizes = np.abs(column) / np.abs(column).max()
    observed, least = abs(float(np.sign(column) @ sizes)), 2.0 ** (1 - len(column))
    if observed >= sizes.sum() * (1 - _PERMUTATION_ROUNDING):
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
    return float(brentq(lambda item: float(sizes @ np.tanh(sizes * item)) - observed, 0, high))


def _cumulant(sizes: Floats, t: float) -> float:
    """Return the logarithm of the mean of exp(t sum) over all patterns of signs of sizes `(n,)`."""
    return float(np.logaddexp(sizes * t, -sizes * t).sum() - len(sizes) * np.log(2))


def _at_least(values: Floats) -> Floats:
    """Return the size from which on a sum counts as that of the values `(n,)` or `(n, m)`."""
    return np.asarray(np.abs(values.sum(axis=0)) - _PERMUTATION_ROUNDING * np.abs(values).sum(axis=0))


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
    """
    values = _booleans(hits, "hits")
    low, high = wilson(int(values.sum()), len(values))
    return Summary(float(values.mean()), low, high, len(values), *_over_batches(values.astype(np.float64), batches))


def summary_of_mean(values: Any, batches: Sequence[Sequence[int]] | None = None, seed: int = 0) -> Summary:
    """Return the mean of `values` `(n,)` with the percentile interval of a bootstrap over texts; NaN is left out.

    It is widened for few texts (see `mase.statistics`). The bounds of a single value are NaN.
    """
    (summary,) = summaries_of_means(np.asarray(values, dtype=np.float64)[:, None], batches, seed)
    return _existing(summary)


def summaries_of_means(
    values: Any, batches: Sequence[Sequence[int]] | None = None, seed: int = 0
) -> tuple[Summary | None, ...]:
    """Return `summary_of_mean` for each of the m columns of `values` `(n, m)`, with the same resamples of the texts.

    A column without any value gets None.
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
    """
    values, other_values = _paired(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    for name, some in (("first", values), ("second", other_values)):
        if np.isinf(some).any():
            raise NonFiniteError(f"{name} has an infinite value, expected finite numbers, or NaN for texts without one")
    (difference,) = paired_means(differences(values, other_values)[:, None], seed)
    return _existing(difference)


def differences(first: Floats, second: Floats) -> Floats:
    """Return first minus second value, which is 0 where the two differ by rounding alone."""
    result = first - second
    return np.where(np.abs(result) <= _STATISTICS_ROUNDING * np.maximum(np.abs(first), np.abs(second)), 0.0, result)


def paired_means(differences: Any, seed: int = 0) -> tuple[Difference | None, ...]:
    """Return `paired_mean` for each of the m columns of `differences` `(n, m)`, with the same resamples of the texts.

    The differences are first minus second. A column without any value gets None.
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


def check_batches(batches: Sequence[Sequence[int]] | None, n_texts: int) -> None:
    """Check that batches are lists of indices of `n_texts` texts; None is no batches."""
    try:  # iterators, which could be read only once, have no slices
        valid = batches is None or all(
            is_integer(index) and 0 <= index < n_texts for batch in batches[:] for index in batch[:]
        )
    except TypeError:
        valid = False
    if not valid:
        raise OptionError(
            f"batches is {batches!r:.80}, expected lists of indices of the {n_texts} texts, as in [[0, 1], [2, 3]]"
        )


def known_share(values: Floats, batches: Sequence[Sequence[int]] | None) -> Summary | None:
    """Return the share of ones among the values `(n,)`; NaN is left out, also from the batches."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    new_index = np.cumsum(known) - 1
    kept = None if batches is None else [new_index[[index for index in batch if known[index]]] for batch in batches]
    return summary_of_share(
        values[known] == 1, None if kept is None else [batch.tolist() for batch in kept if len(batch)]
    )


def known_paired_share(first: Floats, second: Floats) -> Difference | None:
    """Return the difference of the shares of ones, over the texts for which both have a value `(n,)`."""
    known = ~np.isnan(first - second)
    return paired_share(first[known] == 1, second[known] == 1) if known.any() else None
