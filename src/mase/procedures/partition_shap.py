"""Partition SHAP: Owen values over a hierarchy of adjacent words, with the most important parts split first."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from mase.arrays import Floats
from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution
from mase.scalars import check_integer

__all__ = ["PartitionShap"]


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    """Words `first` to `last` (exclusive) as one player, in a context of other words `(p,)`.

    `low` and `high` are the responses without and with the part. `weight` is the share of the orders of the hierarchy
    that have this context. Parts sort by `priority`, which is -|high - low| times the weight, and then by `number`, the
    order in which they were made.
    """

    priority: float
    number: int
    first: int = field(compare=False)
    last: int = field(compare=False)
    context: Floats = field(compare=False)
    low: float = field(compare=False)
    high: float = field(compare=False)
    weight: float = field(compare=False)

    @property
    def middle(self) -> int:
        """Index of the word at which the part is split."""
        return (self.first + self.last) // 2

    def with_half(self, first: int, last: int) -> Floats:
        """Return the context `(p,)` with the words `first` to `last` (exclusive) added."""
        row = self.context.copy()
        row[first:last] = 1.0
        return row


@dataclass(frozen=True, slots=True)
class PartitionShap:
    """Owen values of the words over a balanced binary tree of the text, in which each part is split in the middle.

    The value of a part is the change in response when it is added, averaged over the two orders of the part and its
    sibling in each context. The parts with the largest change times weight are split first, `per_round` at a time. When
    the budget is spent, the value of a part is divided evenly among its words, so the scores always sum to
    F(text) - F(reference). With a sufficient budget they are the Owen values of the tree: the Shapley values over all
    orders that never interleave two siblings.

    Notes
    -----
    The algorithm is that of `shap.explainers.Partition` (0.51, `fixed_context=None`, its default). The text masker of
    shap builds its tree from punctuation and by joining neighbours; the tree here is balanced for all texts.
    """

    per_round: int = 16
    needs_gradients = False
    needs_reference = True
    stops_early = False

    def __post_init__(self) -> None:
        check_integer("per_round", self.per_round, 1)

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)`, which is deterministic; without Owen values of all words it has a `fallback`."""
        del rng, stopping
        p, gamma = oracle.size, np.zeros(oracle.size)
        empty = np.zeros(p)
        root = _Part(0.0, 0, 0, p, empty, float(oracle.responses(empty[None])[0]), oracle.text, 1.0)
        queue, n_evaluated, number = [root], 1, 0
        while queue:
            parts = _next_parts(queue, min(self.per_round, (budget - n_evaluated) // 2), gamma)
            if not parts:
                break
            rows = [row for part in parts for row in _halves(part)]
            responses = oracle.responses(np.array(rows)).reshape(-1, 2)
            n_evaluated += len(rows)
            for part, (left, right) in zip(parts, responses.tolist(), strict=True):
                for child in _children(part, left, right, number):
                    heapq.heappush(queue, child)
                number += 4
        for part in queue:
            _credit(part, gamma)
        shared = None
        if gamma.any() and any(part.last - part.first > 1 for part in queue):
            shared = (
                f"n_samples leaves {budget:,} for the scores, which do not split the text into all of its {p:,} units, "
                f"so some share the value of a phrase evenly; all of them take {_enough(p):,}: use a larger n_samples, "
                "or another method"
            )
        return Solution.of(oracle, Estimate(gamma, no_scatter(p), float(p), shared))


def _enough(p: int) -> int:
    """Return how many rows split all parts of p words."""
    rows, contexts, sizes = 1, 1, [p]
    while max(sizes) > 1:
        several = [size for size in sizes if size > 1]
        rows, contexts = rows + 2 * contexts * len(several), 2 * contexts
        sizes = [half for size in several for half in (size // 2, size - size // 2)]
    return rows


def _next_parts(queue: list[_Part], limit: int, gamma: Floats) -> list[_Part]:
    """Pop at most `limit` parts of several words from the heap; add the values of single words to gamma."""
    parts: list[_Part] = []
    while queue and len(parts) < limit:
        part = heapq.heappop(queue)
        if part.last - part.first == 1:
            _credit(part, gamma)
        else:
            parts.append(part)
    return parts


def _halves(part: _Part) -> tuple[Floats, Floats]:
    return part.with_half(part.first, part.middle), part.with_half(part.middle, part.last)


def _children(part: _Part, left: float, right: float, number: int) -> Iterator[_Part]:
    """Yield both halves of a part, each without and with the other half in its context.

    `left` and `right` are the responses with only the left or the right half added.
    """
    half_left, half_right = _halves(part)
    weight = part.weight / 2
    children = (
        (part.first, part.middle, part.context, part.low, left),
        (part.middle, part.last, part.context, part.low, right),
        (part.first, part.middle, half_right, right, part.high),
        (part.middle, part.last, half_left, left, part.high),
    )
    for i, (first, last, context, low, high) in enumerate(children, start=1):
        yield _Part(-abs(high - low) * weight, number + i, first, last, context, low, high, weight)


def _credit(part: _Part, gamma: Floats) -> None:
    """Divide the value of a part evenly among its words, in place."""
    size = part.last - part.first
    gamma[part.first : part.last] += (part.high - part.low) * part.weight / size
