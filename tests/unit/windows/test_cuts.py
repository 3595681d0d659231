"""Tests of `mase.windows.cuts`."""

from itertools import pairwise
from random import Random

from mase.windows.cuts import cuts


def test_every_unit_is_in_a_window_that_fits_whatever_the_sizes_are():
    random = Random(0)
    for _ in range(200):
        sizes = [random.choice([1, 2, 3, 30, 200]) for _ in range(random.randrange(1, 60))]
        begins = [random.random() < 0.3 for _ in sizes]
        found = cuts(len(sizes), lambda a, b, sizes=sizes: sum(sizes[a:b]) <= 60, begins, random.choice([0, 0.25, 0.9]))
        assert found[0][0] == 0
        assert found[-1][1] == len(sizes)
        assert all(sum(sizes[first:last]) <= 60 or last == first + 1 for first, last in found)
        assert all(a < c <= b < d for (a, b), (c, d) in pairwise(found))
