"""Means with their intervals as dots and lines: a panel per column of a table, a line of it per method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isnan
from typing import TYPE_CHECKING, Literal

from mase.characters import shortened
from mase.errors import OptionError
from mase.render.pictures import new_figure
from mase.render.pieces import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Dot", "DotPanel", "dot_plot"]

_COLUMNS = 4  # panels side by side
# Inches: a panel, a letter of a method's name, a line, title and axis.
_WIDTH, _LETTER, _ROW, _FRAME = 2.3, 0.085, 0.2, 0.9
_LONGEST_NAME = 40
# Marker, its size and fill, and colour (two of Okabe and Ito 2008) by mark: the shapes alone tell the marks apart.
_LOOKS = {
    "best": ("D", 6.0, "#0072b2", "#0072b2", "best mean"),
    "tied": ("o", 6.0, "white", "#0072b2", "not shown to be worse (paired test)"),
    "": ("o", 4.0, "#5c5c5c", "#5c5c5c", "worse (paired test)"),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """The mean of one method with the bounds of its interval (NaN for none), and its mark."""

    method: str
    mean: float
    low: float
    high: float
    mark: Literal["best", "tied", ""] = ""


@dataclass(frozen=True, slots=True)
class DotPanel:
    """One column of a table: its title, what is measured, and the methods from top to bottom."""

    title: str
    measured: str
    dots: tuple[Dot, ...]


def dot_plot(panels: Sequence[DotPanel]) -> "Figure":
    """Return a figure of panels, line by line; panels with the same methods share a line, which names them at the left.

    Raises
    ------
    OptionError
        If there is no panel.
    MissingDependencyError
        If matplotlib is not installed.
    """
    if not panels:
        raise OptionError("got no panel, expected at least one to draw")
    lines = list(_lines(panels))
    n_columns = max(map(len, lines))
    heights = [_FRAME + _ROW * max(len(panel.dots) for panel in line) for line in lines]
    longest = max(len(_short(dot.method)) for panel in panels for dot in panel.dots)
    figure = new_figure(_LETTER * longest + _WIDTH * n_columns, sum(heights) + 0.3)
    grid = figure.subplots(len(lines), n_columns, squeeze=False, height_ratios=heights)
    for line, places in zip(lines, grid, strict=True):
        for index, axes in enumerate(places):
            if index < len(line):
                _panel(axes, line[index], named=index == 0)
            else:
                axes.set_axis_off()
    _legend(figure, {dot.mark for line in lines for panel in line for dot in panel.dots})
    return figure


def _lines(panels: Sequence[DotPanel]) -> Iterator[list[DotPanel]]:
    for _, group in groupby(panels, key=lambda panel: [dot.method for dot in panel.dots]):
        alike = list(group)
        yield from (alike[start : start + _COLUMNS] for start in range(0, len(alike), _COLUMNS))


def _panel(axes: "Axes", panel: DotPanel, *, named: bool) -> None:
    for place, dot in enumerate(panel.dots):
        marker, size, fill, edge, _ = _LOOKS[dot.mark]
        if not isnan(dot.low):
            axes.plot([dot.low, dot.high], [place, place], color=edge, linewidth=1.4, solid_capstyle="butt")
        axes.plot([dot.mean], [place], marker, markersize=size, markerfacecolor=fill, markeredgecolor=edge)
    names = [_short(dot.method) if named else "" for dot in panel.dots]
    axes.set_yticks(range(len(names)), names, parse_math=False, fontsize="small")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.margins(x=0.08)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize="x-small")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(inline(panel.title), loc="left", fontsize="small", parse_math=False)
    axes.set_xlabel(inline(panel.measured), fontsize="x-small", parse_math=False)


def _short(name: str) -> str:
    return shortened(inline(name), _LONGEST_NAME)


def _legend(figure: "Figure", marks: set[str]) -> None:
    """Explain the marks in use, unless there are none."""
    if marks == {""}:
        return
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, markersize=size, markerfacecolor=fill, markeredgecolor=edge, color=edge)
        for mark, (marker, size, fill, edge, _) in _LOOKS.items()
        if mark in marks
    ]
    labels = [label for mark, (*_, label) in _LOOKS.items() if mark in marks]
    figure.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize="small")
