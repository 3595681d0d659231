"""Tests of `mase.render.figure`."""

from math import nan

import pytest

from mase.errors import OptionError
from mase.render.figure import Dot, DotPanel, dot_plot

pytest.importorskip("matplotlib")

NAMES = ("mase", "lime", "$x_1$")
DOTS = (Dot("mase", 0.5, 0.4, 0.6, "best"), Dot("lime", 0.4, 0.3, 0.5, "tied"), Dot("$x_1$", 0.1, nan, nan))


def panels(count, dots=DOTS):
    return [DotPanel("flips", f"k={k} (↑)", dots) for k in range(count)]


def test_each_method_has_a_dot_on_its_interval():
    (axes,) = dot_plot(panels(1)).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == list(NAMES)
    drawn = [([float(x) for x in line.get_xdata()], line.get_marker()) for line in axes.lines]
    assert drawn == [([0.4, 0.6], "None"), ([0.5], "D"), ([0.3, 0.5], "None"), ([0.4], "o"), ([0.1], "o")]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first method on top
    assert axes.get_xlabel() == "k=0 (↑)"


def test_panels_fill_lines_of_four_and_other_methods_begin_another():
    other = (Dot("mase", 0.5, 0.4, 0.6),)
    figure = dot_plot([*panels(5), *panels(1, other)])
    assert [axes.axison for axes in figure.axes] == [True] * 5 + [False] * 3 + [True] + [False] * 3
    named = [bool(axes.get_yticklabels() and axes.get_yticklabels()[0].get_text()) for axes in figure.axes]
    assert [index for index, has in enumerate(named) if has and figure.axes[index].axison] == [0, 4, 8]


def test_the_legend_explains_the_marks_in_use():
    labels = [text.get_text() for text in dot_plot(panels(1)).legends[0].get_texts()]
    assert [label.split(" ")[0] for label in labels] == ["best", "not", "worse"]
    assert not dot_plot(panels(1, DOTS[2:])).legends


def test_a_plot_without_panels_is_refused():
    with pytest.raises(OptionError, match="no panel"):
        dot_plot([])
