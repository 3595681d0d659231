"""The windows of a long text, one line each."""

from mase.attribution import Attribution
from mase.render.facts import stated
from mase.render.numbers import amount, share
from mase.render.pieces import isolated

__all__ = ["window_lines"]


def window_lines(attribution: Attribution) -> list[str]:
    """Return what the scores of a text in windows mean, and a line per window; nothing for other texts."""
    if not attribution.windows:
        return []
    n, noun = len(attribution.windows), attribution.noun
    lines = [
        f"read in {n} windows: a score is the effect of a {noun} on the explained number of one window, that in which "
        f"it is farthest from a cut; the predictions are pooled ({attribution.method.get('pooling')})"
    ]
    for number, window in enumerate(attribution.windows, 1):
        response = window.of(attribution.target)
        fit = "" if response.r2 is None else f", R² {share(response.r2)}"
        lines.append(
            f"window {number}, {isolated(window.field)} {window.start:,} to {window.end:,}: "
            f"{isolated(window.prediction.label)} {stated(window.prediction)}, {attribution.link} "
            f"{amount(response.value)}{fit}{', decides' if response.decides else ''}"
        )
    return lines
