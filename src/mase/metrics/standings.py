"""Which methods are the best in a column of a table, and which are not shown to be worse."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np

from mase.metrics.intervals import Difference, Summary
from mase.metrics.protocol import Better
from mase.statistics import LEVEL, holm

__all__ = ["Mark", "Standing", "can_differ", "standings"]

# "tied": not the best mean, but not shown to be worse either.
Mark = Literal["best", "tied", ""]


@dataclass(frozen=True, slots=True)
class Standing:
    """One method in one column.

    Attributes
    ----------
    summary
        Mean and interval; None without any value.
    mark
        "best", "tied" if the test does not show it to be worse than the best, or "".
    p_value
        Of the paired test against the best, adjusted for all pairs of methods in the column; None if there is none.
    """

    summary: Summary | None
    mark: Mark = ""
    p_value: float | None = None


def standings(
    summaries: Mapping[str, Summary | None], differences: Mapping[tuple[str, str], Difference | None], better: Better
) -> dict[str, Standing]:
    """Return the standing of each method in a column.

    The best has the best mean of the methods with a value for the most texts, so that no method is the best because it
    failed on the hard ones. A method is worse if its paired difference to the best says so and the p-value of that is
    at most 0.05, adjusted by Holm's procedure for all pairs of methods. All pairs count, not only those with the best,
    because the best was found by looking at all. Nothing is marked with fewer than two methods, where all means are
    equal, or where there are so few texts that no difference could pass the test.

    Parameters
    ----------
    summaries
        Mean of each method; None without any value.
    differences
        Paired difference for each pair of methods in either order; None without a common text.
    better
        Which direction is better.
    """
    known = {method: summary for method, summary in summaries.items() if summary is not None}
    means = {summary.mean for summary in known.values()}
    n_texts = max((summary.n for summary in known.values()), default=0)
    if len(means) < 2 or not can_differ(n_texts, len(known)):
        return {method: Standing(summary) for method, summary in summaries.items()}
    sign = 1 if better == "higher" else -1
    most = max(summary.n for summary in known.values())
    whole = {method: sign * summary.mean for method, summary in known.items() if summary.n == most}
    best = max(whole, key=lambda method: whole[method])
    against = _against(best, differences, sign)
    found = {}
    for method, summary in summaries.items():
        behind, p_value = against.get(method, (0.0, None))
        is_worse = p_value is not None and behind > 0 and p_value <= 1 - LEVEL
        mark: Mark = "best" if whole.get(method) == whole[best] else "" if summary is None or is_worse else "tied"
        found[method] = Standing(summary, mark, p_value)
    return found


def can_differ(n_texts: int, n_methods: int) -> bool:
    """Return whether so many texts could show any difference between methods.

    Of n texts that all differ in one direction, a paired test has the p-value 2 / 2^n, and Holm's procedure multiplies
    the least one by the number of pairs.
    """
    return 2.0 ** (1 - n_texts) * comb(n_methods, 2) <= 1 - LEVEL


def _against(
    best: str, differences: Mapping[tuple[str, str], Difference | None], sign: int
) -> dict[str, tuple[float, float]]:
    """Return by how much each other method is behind the best on their common texts, and the adjusted p-value."""
    known = {pair: difference for pair, difference in differences.items() if difference is not None}
    adjusted = holm(np.array([difference.p_value for difference in known.values()]))
    return {
        second if first == best else first: (sign * difference.mean * (1 if first == best else -1), p)
        for ((first, second), difference), p in zip(known.items(), adjusted.tolist(), strict=True)
        if best in (first, second)
    }
