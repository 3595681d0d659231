"""Panels of curves with intervals, and figures as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from mase.errors import OptionError
from mase.files import write_stream
from mase.render.figure import new_figure, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curve", "Panel", "draw", "save"]

# Eight colours that remain distinct with common colour blindness (Okabe and Ito 2008), then the same ones dashed.
_HUES = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")
_DASHES = ("-", "--", ":")
_WIDTH, _HEIGHT = 4.6, 3.4  # inches of one panel


@dataclass(frozen=True, slots=True)
class Curve:
    """One line: y over x, with the lower and upper ends of the intervals (empty for none)."""

    label: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: curves over a common x axis, which may be logarithmic."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log_x: bool = False


def draw(panels: Sequence[Panel], columns: int = 2) -> "Figure":
    """Return a figure of the panels, row by row, with one legend; a label has the same colour in all panels."""
    if not panels:
        raise OptionError("got no panel, expected at least one to draw")
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(_WIDTH * columns, _HEIGHT * rows + 0.6)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    for axes, panel in zip(grid, panels, strict=False):
        _panel(axes, panel, labels)
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    shown = {label: line for axes in grid for line, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    figure.legend(
        [shown[label] for label in labels], labels, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


def _panel(axes: "Axes", panel: Panel, labels: Sequence[str]) -> None:
    for curve in panel.curves:
        index = labels.index(curve.label)
        hue, dash = _HUES[index % len(_HUES)], _DASHES[index // len(_HUES) % len(_DASHES)]
        axes.plot(curve.xs, curve.ys, dash, color=hue, label=curve.label, linewidth=1.4, marker="o", markersize=2.5)
        if curve.lows:
            axes.fill_between(curve.xs, curve.lows, curve.highs, color=hue, alpha=0.07, linewidth=0)
    if panel.log_x:
        axes.set_xscale("log")
    axes.set_title(panel.title, loc="left", fontsize="medium", parse_math=False)
    axes.set_xlabel(panel.x, parse_math=False)
    axes.set_ylabel(panel.y, parse_math=False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: "Figure", path: Path) -> Path:
    """Write a figure to `path`, an SVG with the same bytes for the same numbers, and return it."""
    write_stream(path, BytesIO(picture(figure, ".svg")))
    return path
