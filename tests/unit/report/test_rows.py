"""Tests of `mase.report.rows`."""

import re

import pytest
from tests.summaries import word

from mase.render.palette import Scale
from mase.report.rows import Limits, room, row_list, scale_of_list, word_line

LIMITS, SCALE = Limits(10, 3, 10), Scale(0.0, 2)


def length(path):
    """Return from where to where the bar of a path goes."""
    first, last = map(float, re.match(r"M([\d.]+) 2H([\d.]+)v8", path).groups())
    return abs(last - first)


def test_lists_within_the_same_room_have_the_same_scale():
    towards, away = ([word_line(word("a", effect=effect), SCALE)] for effect in (2.0, 0.5))
    assert room(towards) == pytest.approx(2.1)
    within = max(room(towards), room(away))
    large, small = (row_list("", lines, SCALE, LIMITS, within=within).rows[0] for lines in (towards, away))
    assert length(large.bar) == pytest.approx(4 * length(small.bar), abs=0.3)
    alone = row_list("", away, SCALE, LIMITS).rows[0]
    assert length(alone.bar) > 3 * length(small.bar)


def test_small_numbers_of_a_list_have_a_digit():
    assert [scale_of_list(values).decimals for values in ([2.0, 0.5], [2.0, -0.03], [2.0, 0.003], [2.0, 1e-9])] == [
        2,
        2,
        3,
        4,
    ]
    assert [scale_of_list(values).decimals for values in ([], [0.0], [1234.5, 0.0], [1e-9, 1e-9])] == [3, 3, 0, None]


def test_bars_stay_in_their_drawing():
    lines = [word_line(word("a", direction="away", effect=effect), SCALE) for effect in (2.0, 0.5)]
    for within in (0.0, 8.0):
        for row in row_list("", lines, SCALE, LIMITS, within=within).rows:
            numbers = [float(number) for number in re.findall(r"[MH]([\d.-]+)", row.bar + row.whisker)]
            assert min(numbers) >= 1 - 0.05
            assert max(numbers) <= 99 + 0.05
    assert row_list("", [], SCALE, LIMITS).rows == ()
