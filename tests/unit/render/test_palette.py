"""Tests of `mase.render.palette`."""

import math
from dataclasses import replace

from tests.attributions import attribution

from mase.attribution import Word
from mase.render.palette import are_estimates, has_intervals, is_significant, scale_of, strongest
from mase.render.terminal import summary


def test_the_scale_gives_numbers_that_fit_the_text():
    scale = scale_of(attribution())
    superb, dull = attribution().top(2, by="magnitude")
    assert scale.interval(superb) == "+0.250 ± 0.020"
    assert scale.interval(dull) == "−0.125 ± 0.020"
    assert [scale.level(word, 6) for word in (superb, dull)] == [6, 3]
    assert scale.level(Word("x", 0, 1, "text", 0.02, 0.0), 6) == 0
    assert scale_of(attribution("one", [1234.5])).signed(1234.5) == "+1234"
    large = scale_of(attribution("one two", [52345.6, -9999.7], se=6000.0))
    assert [large.signed(value) for value in (52345.6, -9999.7, 0.4)] == ["+52,346", "−10,000", "0"]
    assert [large.error(value) for value in (11760.0, 9999.1, 9998.2)] == ["11,760", "10,000", "9999"]
    price = scale_of(attribution("one two", [1e6, 3.0], se=0.0))
    assert [price.signed(value) for value in (1e6, -3.0, 0.0)] == ["+1,000,000", "−3", "0"]
    assert scale_of(attribution("one", [2e15])).signed(2e15) == "+2.0e+15"
    assert scale_of(attribution("one", [1e-7])).interval(Word("x", 0, 1, "text", -1e-7, 1e-9)) == "−1.0e-07 ± 2e-09"


def test_summaries_keep_to_the_width_of_a_word():
    assert max(map(len, summary(attribution("a" * 300 + " superb")).splitlines())) < 120


def test_half_widths_are_never_rounded_to_nothing():
    tiny = scale_of(attribution("one", [1e-7]))
    assert [tiny.error(value) for value in (1.2e-9, 9.1e-9, 2e-9, 0.0)] == ["2e-09", "1e-08", "2e-09", "0e+00"]
    assert tiny.error(1e-320) == "1e-320"
    assert scale_of(attribution()).error(1e-9) == "0.001"
    assert scale_of(attribution()).error(0.0) == "0.000"
    assert scale_of(attribution("no scores", [0.0, 0.0])).interval(Word("x", 0, 1, "text", 0.0, 0.0)) == "0.000 ± 0.000"


def test_exact_scores_have_no_interval():
    exact = attribution("a b", [0.5, 0.25], se=0.0)
    assert [scale_of(exact).interval(word) for word in exact.word_scores] == ["+0.500", "+0.250"]
    some = attribution("a b", [0.5, 0.25], standard_errors=(0.0, 0.1))
    assert [scale_of(some).interval(word) for word in some.word_scores] == ["+0.500 ± 0.000", "+0.250 ± 0.196"]
    assert (has_intervals(exact), has_intervals(some), has_intervals(attribution(se=None))) == (False, True, False)
    assert (are_estimates(exact), are_estimates(attribution(se=None))) == (True, False)


def test_a_word_is_sure_if_its_interval_leaves_out_zero():
    assert is_significant(Word("x", 0, 1, "text", -0.2, 0.1))
    assert not is_significant(Word("x", 0, 1, "text", 0.19, 0.1))
    assert not is_significant(Word("x", 0, 1, "text", 0.0, 0.0))


def test_screens_list_the_strongest_words_of_both_sides():
    assert [word.text for word in strongest(attribution(), 3)] == ["superb", "dull", "plot"]
    ties = attribution("a b c d", [-1.0, 0.5, 1.0, -1.0])
    assert [word.text for word in strongest(ties, 4)] == ["a", "c", "d", "b"]


def test_screens_follow_an_order_that_is_not_that_of_the_scores():
    made = attribution("a b c", [3.0, 2.0, -4.0], order=(1, 0, 2))
    assert [word.text for word in strongest(made, 2)] == ["b", "a"]


def test_an_impossible_error_is_shown_all_the_same():
    for decimals in (None, 2):
        scale = replace(scale_of(attribution()), decimals=decimals)
        assert scale.error(1e308) == "1e+308"
        assert scale.error(2.5e200) == "3e+200"
        assert scale.error(math.inf) == "inf"
    made = attribution(method={"zoom": "x"}, zoomed=attribution("a b", [1.0, 0.5]))
    assert "word by word" in str(made)
