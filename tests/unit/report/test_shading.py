"""Tests of `mase.report.shading`: the same shades and numbers as on the page of single texts."""

import numpy as np
import pytest

from mase.attribution import Word
from mase.render.palette import Scale, is_significant
from mase.report.shading import shading


def shaded(text, spans, scores, errors):
    starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    return shading(text, starts, ends, np.array(scores, dtype=float), np.array(errors, dtype=float))


@pytest.mark.parametrize("size", [1e-7, 0.03, 1.0, 250.0, 1e9])
def test_shades_and_numbers_are_those_of_a_single_text(size):
    rng = np.random.default_rng(0)
    scores, errors = size * rng.normal(size=80), size * rng.exponential(0.2, 80)
    found = shaded("a " * 80, [(2 * i, 2 * i + 1) for i in range(80)], scores, errors)
    scale = Scale.of(float(np.abs(scores).max()))
    for (start, length, score, error, shade), wanted, width in zip(found.words.tolist(), scores, errors, strict=True):
        word = Word(text="a", start=start, end=start + length, field="text", score=wanted, standard_error=width)
        level = scale.level(word, 6)
        assert shade == (level if is_significant(word) or not level else level + 6)
        shown = [scale.signed(wanted), scale.interval(word, "±").partition("±")[2]]
        got = [scale.signed(score * found.unit), found.scale.error(error * found.unit)]
        if found.decimals is None:  # rounded twice
            got, shown = ([float(number.replace("−", "-")) for number in numbers] for numbers in (got, shown))
            assert got == pytest.approx(shown, rel=0.1)
        else:
            assert got == shown


def test_words_outside_the_text_and_overlapping_ones():
    found = shaded("abcdef", [(4, 99), (0, 3), (2, 5), (7, 8), (5, 5)], [1, 2, 3, 4, 5], [np.nan] * 5)
    assert found.words[:, :2].tolist() == [[0, 3], [3, 2], [5, 1]]
    assert found.words[:, 3].tolist() == [-1, -1, -1]


def test_numbers_that_are_not_finite():
    found = shaded("abc", [(0, 1), (1, 2), (2, 3)], [np.nan, np.inf, 1e308], [np.inf, 1.0, 1e308])
    assert found.words[:, 2].tolist()[:2] == [0, 0]
    assert (found.words[:, 3] >= 0).all()
    assert shaded("", [], [], []).packed() == ""


def test_exact_scores_have_no_interval():
    for errors, widths in (([0.0, 0.0], [-1, -1]), ([0.0, 0.1], [0, 196])):
        found = shaded("ab cd", [(0, 2), (3, 5)], [0.5, -0.25], errors)
        assert found.words[:, 3].tolist() == widths
        assert found.scale.intervals == any(errors)
