from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mase.models.language.plan import Branch, Costs, batches, branches


def cost_of(parts, lengths, costs):
    return sum(len(part) * max(lengths[index] for index in part) + costs.per_pass for part in parts)


def in_order(lengths):
    """Yield all ways to cut the rows, in ascending order of length, into batches."""
    order = np.argsort(lengths, kind="stable").tolist()
    for cuts in product((False, True), repeat=len(order) - 1):
        ends = [0, *(index + 1 for index, cut in enumerate(cuts) if cut), len(order)]
        yield [order[first:last] for first, last in pairwise(ends)]


@settings(max_examples=25)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=7), st.integers(0, 20), st.integers(1, 40))
def test_batches_cost_least(lengths, per_pass, most):
    costs = Costs(per_pass, most)
    found = batches(lengths, costs)
    assert sorted(index for part in found for index in part) == list(range(len(lengths)))

    def fits(part):
        return len(part) == 1 or len(part) * max(lengths[index] for index in part) <= most

    assert all(map(fits, found))
    least = min(cost_of(parts, lengths, costs) for parts in in_order(lengths) if all(map(fits, parts)))
    assert cost_of(found, lengths, costs) == least


def test_no_rows_are_no_batches():
    assert batches([], Costs(1, 1)) == []


def read(found, sequences):
    """Return the tokens that each sequence gets from the shared beginnings, checked to be its own."""
    known = [()] * len(sequences)

    def walk(branch):
        for index in range(branch.first, branch.last):
            assert len(known[index]) == branch.start
            known[index] += sequences[branch.first][branch.start : branch.end]
        for inner in branch.branches:
            assert branch.first <= inner.first < inner.last <= branch.last
            walk(inner)

    for branch in found:
        walk(branch)
    return known


@settings(max_examples=25)
@given(st.sets(st.lists(st.integers(0, 1), max_size=6).map(tuple), max_size=12), st.integers(0, 3))
def test_a_shared_beginning_is_that_of_every_sequence(found, per_pass):
    sequences = sorted(found)
    for known, sequence in zip(read(branches(sequences, per_pass), sequences), sequences, strict=True):
        assert sequence[: len(known)] == known


def test_beginnings_are_shared_where_they_pay():
    sequences = sorted(
        [(*range(10), 20), (*range(10), 21), (*range(10), 22, *range(9), 1), (*range(10), 22, *range(9), 2)]
    )
    assert branches(sequences, 5) == (Branch(0, 4, 0, 10),)
    inner = (Branch(2, 4, 10, 20),)
    assert branches(sequences, 4) == (Branch(0, 4, 0, 10, inner),)
    assert branches(sequences, 16) == ()


def test_beginnings_may_be_nested_as_deep_as_there_are_sequences():
    found = branches(sorted((*[0] * k, 1) for k in range(256)), 0)
    for depth in range(254):
        (branch,) = found
        assert (branch.first, branch.last, branch.start, branch.end) == (0, 255 - depth, depth, depth + 1)
        found = branch.branches
    assert found == ()


def test_a_beginning_that_only_some_share_needs_no_other_one():
    sequences = sorted([(0, 1), *((0, 2, *range(20), end) for end in range(3))])
    assert branches(sequences, 5) == (Branch(1, 4, 0, 22),)


@pytest.mark.parametrize("n", [0, 1])
def test_one_sequence_shares_nothing(n):
    assert branches([(1, 2, 3)][:n], 0) == ()


def test_what_is_known_is_not_computed_and_costs_one_pass():
    assert branches([(1, 2, 3, 4)], 2, [3]) == (Branch(0, 1, 0, 3, known=True),)
    assert branches([(1, 2, 3, 4)], 3, [3]) == ()
    sequences = [(1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 7), (1, 2, 3, 8), (1, 2, 3, 9), (9, 9)]
    assert branches(sequences, 4, [4, 4, 3, 3, 0]) == (Branch(0, 4, 0, 3, known=True),)
    longer = [(*range(20), end) for end in (1, 2)]
    assert branches(longer, 4, [8, 8]) == (Branch(0, 2, 0, 8, (Branch(0, 2, 8, 20),), known=True),)
