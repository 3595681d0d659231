"""Plan how many sequences of tokens are read together: which beginnings are computed once, and what forms a batch.

The cost of a forward pass is counted in tokens: those of its batch, padding included, and a number that stands for what
a pass costs beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Branch", "Costs", "batches", "branches", "common"]

Ids = tuple[int, ...]
# The sequences `first` to `last` - 1, of which `start` tokens are already in a cache; and what a plan for them is: the
# tokens saved, and the branches.
_Part = tuple[int, int, int]
_Plan = tuple[int, "tuple[Branch, ...]"]


@dataclass(frozen=True, slots=True)
class Costs:
    """What forward passes cost on a device, in tokens.

    Attributes
    ----------
    per_pass
        Cost of a pass beside its tokens: reading the weights, and starting its operations.
    most
        Largest number of tokens in a batch of several rows.
    """

    per_pass: int
    most: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A beginning that the sequences `first` to `last` - 1 share; its tokens `start` to `end` - 1 are computed once.

    The sequences continue from `end`, some of them in `branches` of their own. Of a `known` beginning, all tokens were
    computed before.
    """

    first: int
    last: int
    start: int
    end: int
    branches: "tuple[Branch, ...]" = ()
    known: bool = False


def branches(sequences: Sequence[Ids], per_pass: int, known: Sequence[int] | None = None) -> tuple[Branch, ...]:
    """Return the shared beginnings that pay for themselves, of sequences in ascending order without duplicates.

    A beginning saves its tokens for all sequences but one. It costs two passes: its own, and that of the sequences that
    could otherwise be in a batch with others. The first `known` tokens of each sequence are those of one sequence that
    was computed before: there, a beginning saves its tokens for all, and costs one pass.
    """
    shared = [common(left, right) for left, right in pairwise(sequences)]
    planner = _Planner(shared, [0] * len(sequences) if known is None else known, per_pass)
    plans: dict[_Part, _Plan] = {}
    whole = (0, len(sequences), 0)
    waiting = [whole]  # instead of a recursion, which could be as deep as there are sequences
    while waiting:
        part = waiting[-1]
        missing = [one for one in planner.parts(part) if one not in plans]
        if missing:
            waiting += missing
        else:
            plans[waiting.pop()] = planner.best(part, plans)
    return plans[whole][1]


@dataclass(frozen=True, slots=True)
class _Planner:
    """How the best plan for some sequences follows from those for parts of them.

    `shared` has the length of the common beginning of each sequence and the next one.
    """

    shared: Sequence[int]
    known: Sequence[int]
    per_pass: int

    def parts(self, part: _Part) -> list[_Part]:
        """Return the parts whose plans that of a part is made of."""
        first, last, start = part
        end, ranges = self._common(first, last)
        known = self._known(first, last)
        again = [(first, last, known)] if known > start else []
        return [*again, *((*one, begin) for one in ranges for begin in (start, end))]

    def best(self, part: _Part, plans: Mapping[_Part, _Plan]) -> _Plan:
        """Return the plan for a part that saves most, from those for its `parts`."""
        first, last, start = part
        n, end = last - first, self._known(first, last)
        found: list[_Plan] = [self._computed(part, plans) if n > 1 else (0, ())]
        if end > start:
            saved, below = plans[first, last, end]
            branch = Branch(first, last, start, end, below, known=True)
            found.append((saved + n * (end - start) - self.per_pass, (branch,)))
        return max(found, key=lambda plan: plan[0])

    def _computed(self, part: _Part, plans: Mapping[_Part, _Plan]) -> _Plan:
        """Return the best plan where the first beginning, if there is one, is computed."""
        first, last, start = part
        end, ranges = self._common(first, last)
        apart = _joined([plans[*one, start] for one in ranges])
        saved, below = _joined([plans[*one, end] for one in ranges])
        taken = saved + (last - first - 1) * (end - start) - 2 * self.per_pass
        return max(apart, (taken, (Branch(first, last, start, end, below),)), key=lambda plan: plan[0])

    def _common(self, first: int, last: int) -> tuple[int, list[tuple[int, int]]]:
        """Return the length of the beginning that several sequences share, and the ranges of them that share more."""
        if last - first < 2:
            return 0, []
        end = min(self.shared[first : last - 1])
        cuts = [first, *(index + 1 for index in range(first, last - 1) if self.shared[index] == end), last]
        return end, list(pairwise(cuts))

    def _known(self, first: int, last: int) -> int:
        return min(self.known[first:last], default=0)


def batches(lengths: Sequence[int], costs: Costs) -> list[list[int]]:
    """Return the indices of the rows of each batch, so that passes and padding together cost least.

    A row is padded to the longest of its batch.
    """
    order = sorted(range(len(lengths)), key=lambda index: lengths[index])
    least, cut = [0], [0]  # the lowest cost of the first rows in order, and where their last batch begins
    for last in range(1, len(order) + 1):
        width = lengths[order[last - 1]]
        found = []
        for first in range(last - 1, -1, -1):
            size = last - first
            if size > 1 and size * width > costs.most:
                break
            found.append((least[first] + size * width + costs.per_pass, first))
        lowest, first = min(found)
        least.append(lowest)
        cut.append(first)
    ends = [len(order)]
    while ends[-1]:
        ends.append(cut[ends[-1]])
    return [order[first:last] for first, last in pairwise(reversed(ends))]


def _joined(plans: Sequence[_Plan]) -> _Plan:
    return sum(saved for saved, _ in plans), tuple(branch for _, found in plans for branch in found)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the common beginning of two sequences."""
    n = min(len(left), len(right))
    return next((index for index in range(n) if left[index] != right[index]), n)
