"""Partition SHAP: Owen values over a hierarchy of neighbouring words, the most telling parts first."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.regression.covariance import no_scatter
from mase.regression.oracle import Oracle
from mase.regression.problem import Estimate
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["PartitionShap"]


@dataclass(frozen=True, slots=True, order=True)
class _Part:
    """Words `first` to `last` (exclusive) as one player, in a context of other words `(p,)`.

    `low` and `high` are the responses without and with it, `weight` the share of the orders of the hierarchy that the
    context stands for. Parts sort by what is at stake, the largest first, then by age.
    """

    stake: float
    age: int
    first: int = field(compare=False)
    last: int = field(compare=False)
    context: Floats = field(compare=False)
    low: float = field(compare=False)
    high: float = field(compare=False)
    weight: float = field(compare=False)

    @property
    def middle(self) -> int:
        """Where the part is cut in two."""
        return (self.first + self.last) // 2

    def with_half(self, first: int, last: int) -> Floats:
        """Return the context `(p,)` with some of the part's words put back."""
        row = self.context.copy()
        row[first:last] = 1.0
        return row


@dataclass(frozen=True, slots=True)
class PartitionShap:
    """Owen values of the words over a balanced binary tree of the text: each part is cut in its middle into two players.

    A part is worth what it adds, halved over the two orders in which it and its sibling can come, in each context. The
    parts with the most at stake (difference times weight) are cut first, `per_round` at a time; when the budget is
    spent, what a part adds is spread evenly over its words, so that scores always sum to F(text) - F(reference). With
    budget enough the values are the Owen values of the tree: the Shapley values over all orders that never interleave
    two siblings.

    Notes
    -----
    The algorithm is that of `shap.explainers.Partition` (0.51, `fixed_context=None`, its default); its text masker
    builds the tree from punctuation and joins neighbours, this one is balanced whatever the words are.
    """

    per_round: int = 16
    needs_gradients: ClassVar[bool] = False
    needs_reference: ClassVar[bool] = True
    stops_early: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.per_round < 1:
            raise OptionError(f"per_round is {self.per_round}, expected an integer >= 1")

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)`; nothing is drawn."""
        del rng, stopping
        p, gamma = oracle.size, np.zeros(oracle.size)
        nothing = np.zeros(p)
        root = _Part(0.0, 0, 0, p, nothing, float(oracle.responses(nothing[None])[0]), oracle.text, 1.0)
        waiting, asked, age = [root], 1, 0
        while waiting:
            parts = _next_parts(waiting, min(self.per_round, (budget - asked) // 2), gamma)
            if not parts:
                break
            rows = [row for part in parts for row in _halves(part)]
            answers = oracle.responses(np.array(rows)).reshape(-1, 2)
            asked += len(rows)
            for part, (left, right) in zip(parts, answers.tolist(), strict=True):
                for child in _children(part, left, right, age):
                    heapq.heappush(waiting, child)
                age += 4
        for part in waiting:
            _credit(part, gamma)
        return Solution.of(oracle, Estimate(gamma, no_scatter(p), float(p)))


def _next_parts(waiting: list[_Part], limit: int, gamma: Floats) -> list[_Part]:
    """Take the parts with the most at stake off the heap, at most `limit` that can be cut; single words are credited."""
    parts: list[_Part] = []
    while waiting and len(parts) < limit:
        part = heapq.heappop(waiting)
        if part.last - part.first == 1:
            _credit(part, gamma)
        else:
            parts.append(part)
    return parts


def _halves(part: _Part) -> tuple[Floats, Floats]:
    return part.with_half(part.first, part.middle), part.with_half(part.middle, part.last)


def _children(part: _Part, left: float, right: float, age: int) -> Iterator[_Part]:
    """Yield both halves of a part, each before and after the other; `left` and `right` are the responses with one half."""
    half_left, half_right = _halves(part)
    weight = part.weight / 2
    cuts = (
        (part.first, part.middle, part.context, part.low, left),
        (part.middle, part.last, part.context, part.low, right),
        (part.first, part.middle, half_right, right, part.high),
        (part.middle, part.last, half_left, left, part.high),
    )
    for offset, (first, last, context, low, high) in enumerate(cuts, start=1):
        yield _Part(-abs(high - low) * weight, age + offset, first, last, context, low, high, weight)


def _credit(part: _Part, gamma: Floats) -> None:
    """Spread what a part adds evenly over its words, in place."""
    size = part.last - part.first
    gamma[part.first : part.last] += (part.high - part.low) * part.weight / size
