"""Attributions as matplotlib figures, without pyplot and its global state."""

from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len

from mase.attribution import Attribution
from mase.render.cells import shortened
from mase.render.facts import measured, stated
from mase.render.palette import BLUE, NEUTRAL, RED, error95, has_intervals, is_significant, is_unsigned, strongest
from mase.render.pictures import new_figure
from mase.render.pieces import inline, isolated, labelled
from mase.scalars import check_integer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bar_chart"]

# Inches: the height of a row of text at matplotlib's default size, and of title and axis together.
_ROW, _FRAME = 0.27, 1.1
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
    figure = new_figure(7, _FRAME + _ROW * max(4, len(words)))
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
    labels = [isolated(shortened(labelled(attribution, word), _LONGEST_WORD)) for word in words]
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
        return f"answer: {isolated(shortened(inline(attribution.answer.text), _LONGEST_ANSWER))}"
    label = isolated(shortened(inline(attribution.prediction.label), _LONGEST_LABEL))
    return f"predicted {label} {stated(attribution.prediction)}"
