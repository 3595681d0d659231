"""Figures of matplotlib, without pyplot: bars of scores, and means of methods with their intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import groupby
from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich.cells import cell_len

from mase.attribution.attribution import Attribution
from mase.defaults import check_integer
from mase.errors import MissingDependencyError, OptionError
from mase.render.marks import (
    BLUE,
    NEUTRAL,
    RED,
    error95,
    has_intervals,
    inline,
    is_significant,
    is_unsigned,
    isolated,
    labelled,
    shortened_to_width,
    strongest,
)
from mase.render.wording import measured, stated
from mase.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The formats by suffix, each with the entry of its metadata that would name the day.
PICTURES = {".png": None, ".svg": "Date", ".pdf": "CreationDate"}


def check_matplotlib() -> None:
    """Check that figures can be made, before any work."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"matplotlib cannot be imported ({error}); run: pip install 'mase-xai[plot]'"
        ) from error


def new_figure(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, whose parts are laid out without overlap; notebooks show it."""
    check_matplotlib()
    from mase.render.picture import Picture

    return Picture(figsize=(width, height), layout="constrained")


def picture(figure: "Figure", suffix: str) -> bytes:
    """Return a figure as the bytes of a file with this suffix of `PICTURES`: the same bytes for the same numbers."""
    from matplotlib import rc_context

    dated, file = PICTURES[suffix], BytesIO()
    options: dict[str, Any] = {} if dated is None else {"metadata": {dated: None}}
    with rc_context({"svg.hashsalt": "mase", "svg.fonttype": "none"}):
        figure.savefig(file, format=suffix[1:], dpi=200, **options)
    return file.getvalue()


# Inches: the height of a row of text at matplotlib's default size, and of title and axis together.
_FIGURE_ROW, _FIGURE_FRAME = 0.27, 1.1
_LONGEST_WORD, _LONGEST_LABEL, _LONGEST_ANSWER = 30, 50, 60

# Letters of a line of text that fit into the width.
_LINE = 75


def bar_chart(attribution: Attribution, k: int = 20) -> "Figure":
    """Return a figure of the k words of largest absolute score, in reading order, with 95 % intervals if they have any.

    Bars to the right increase the response of the target, and bars to the left decrease it. The interval of a pale bar
    includes 0. Unsigned scores have a third colour.
    """
    k = check_integer("k", k, 1)
    words = sorted(strongest(attribution, k), key=attribution.word_scores.index)
    figure = new_figure(7, _FIGURE_FRAME + _FIGURE_ROW * max(4, len(words)))
    axes = figure.subplots()
    positions = range(len(words))
    errors = [np.nan if (half := error95(word)) is None else half for word in words]
    hues = (NEUTRAL, NEUTRAL) if is_unsigned(attribution) else (BLUE, RED)
    axes.barh(
        positions,
        [word.score for word in words],
        xerr=errors if has_intervals(attribution) else None,
        color=[(hues[word.score > 0], 1.0 if is_significant(word) else 0.35) for word in words],
        error_kw={"ecolor": "#555555", "elinewidth": 1.2, "capsize": 2.5},
        height=0.7,
    )
    labels = [isolated(shortened_to_width(labelled(attribution, word), _LONGEST_WORD)) for word in words]
    axes.set_yticks(positions, labels, parse_math=False)
    axes.margins(y=0.02)
    axes.invert_yaxis()
    axes.axvline(0, color="#555555", linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    # It stands in the middle of the axes, which long words make narrow.
    room = _LINE - max(map(cell_len, labels), default=0)
    axes.set_xlabel(fill(measured(attribution), room), parse_math=False)
    axes.set_title(_title(attribution), loc="left", fontsize="medium", parse_math=False)
    return figure


def _title(attribution: Attribution) -> str:
    """Return the prediction, or the answer."""
    if attribution.answer is not None:
        return f"answer: {isolated(shortened_to_width(inline(attribution.answer.text), _LONGEST_ANSWER))}"
    label = isolated(shortened_to_width(inline(attribution.prediction.label), _LONGEST_LABEL))
    return f"predicted {label} {stated(attribution.prediction)}"


_COLUMNS = 4  # panels side by side

# Inches: a panel, a letter of a method's name, a line, title and axis.
_WIDTH, _LETTER, _DOT_PLOT_ROW, _DOT_PLOT_FRAME = 2.3, 0.085, 0.2, 0.9
_LONGEST_NAME = 40

# Marker, its size and fill, and colour (two of Okabe and Ito 2008) by mark: the shapes alone tell the marks apart.
_LOOKS = {
    "best": ("D", 6.0, "#0072b2", "#0072b2", "best mean"),
    "tied": ("o", 6.0, "white", "#0072b2", "not shown to be worse (paired test)"),
    "": ("o", 4.0, "#5c5c5c", "#5c5c5c", "worse (paired test)"),
    None: ("o", 4.0, "#5c5c5c", "#5c5c5c", ""),
}


@dataclass(frozen=True, slots=True)
class Dot:
    """The mean of one method, the bounds of its interval (NaN for none), and its mark; None if nothing is marked."""

    method: str
    mean: float
    low: float
    high: float
    mark: Literal["best", "tied", ""] | None = ""


@dataclass(frozen=True, slots=True)
class DotPanel:
    """One column of a table: its title, what is measured, and the methods from top to bottom."""

    title: str
    measured: str
    dots: tuple[Dot, ...]


def dot_plot(panels: Sequence[DotPanel]) -> "Figure":
    """Return a figure of panels, line by line; panels with the same methods share a line, which names them at
    the left.
    """
    if not panels:
        raise OptionError("got no panel, expected at least one to draw")
    lines = list(_lines(panels))
    n_columns = max(map(len, lines))
    heights = [_DOT_PLOT_FRAME + _DOT_PLOT_ROW * max(len(panel.dots) for panel in line) for line in lines]
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


def _legend(figure: "Figure", marks: set[str | None]) -> None:
    """Explain the marks in use, unless there are none."""
    if marks <= {"", None}:
        return
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=marker, markersize=size, markerfacecolor=fill, markeredgecolor=edge, color=edge)
        for mark, (marker, size, fill, edge, _) in _LOOKS.items()
        if mark in marks and mark is not None
    ]
    labels = [label for mark, (*_, label) in _LOOKS.items() if mark in marks and mark is not None]
    figure.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, fontsize="small")
