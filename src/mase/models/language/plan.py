"""Plan how many sequences of tokens are read together: which beginnings are computed once, and what forms a batch.

The cost of a forward pass is counted in tokens: those of its batch, padding included, and a number that stands for what
a pass costs beside them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

__all__ = ["Branch", "Costs", "batches", "branches", "common"]

Ids = tuple[int, ...]


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
    known = [0] * len(sequences) if known is None else known

    @cache
    def best(first: int, last: int, start: int) -> tuple[int, tuple[Branch, ...]]:
        """Return the tokens saved, and the branches, for sequences of which `start` tokens are already in a cache."""
        found, end = [computed(first, last, start)], min(known[first:last], default=0)
        if end > start:
            saved, below = best(first, last, end)
            branch = Branch(first, last, start, end, below, known=True)
            found.append((saved + (last - first) * (end - start) - per_pass, (branch,)))
        return max(found, key=lambda one: one[0])

    def computed(first: int, last: int, start: int) -> tuple[int, tuple[Branch, ...]]:
        """Return the same where the first beginning, if there is one, is computed."""
        if last - first < 2:
            return 0, ()
        end = min(shared[first : last - 1])
        cuts = [first, *(index + 1 for index in range(first, last - 1) if shared[index] == end), last]
        apart = [best(*part, start) for part in pairwise(cuts)]
        below = [best(*part, end) for part in pairwise(cuts)]
        branch = Branch(first, last, start, end, _joined(below))
        taken = (last - first - 1) * (end - start) - 2 * per_pass + sum(saved for saved, _ in below)
        return max((sum(saved for saved, _ in apart), _joined(apart)), (taken, (branch,)), key=lambda found: found[0])

    return best(0, len(sequences), 0)[1]


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


def _joined(parts: Sequence[tuple[int, tuple[Branch, ...]]]) -> tuple[Branch, ...]:
    return tuple(branch for _, found in parts for branch in found)


def common(left: Sequence[int], right: Sequence[int]) -> int:
    """Return the length of the common beginning of two sequences."""
    n = min(len(left), len(right))
    return next((index for index in range(n) if left[index] != right[index]), n)
