"""Scores and their intervals as bars."""

from collections.abc import Sequence

from markupsafe import Markup

from mase.attribution import Word
from mase.render.palette import error95

__all__ = ["bars"]


def bars(words: Sequence[Word], *, signed: bool) -> list[Markup]:
    """Return the contents of an `svg` for each word.

    All bars start at the 0 of a common axis, which is as wide as the longest bars and intervals on either side need.
    If the scores are not `signed`, all bars have the same colour.
    """
    ends = [word.score + sign * (error95(word) or 0.0) for word in words for sign in (-1, 1)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    width = (high - low) or 1.0

    def box(kind: str, one: float, other: float) -> Markup:
        left, right = (1 + 98 * (value - low) / width for value in sorted((one, other)))
        shape = '<rect class={} x="{:.3g}%" width="{:.3g}%"/>'
        return Markup(shape).format(kind, left, right - left)

    def bar(word: Word) -> Markup:
        error = error95(word)
        whisker = "" if error is None else box("w", word.score - error, word.score + error)
        return box("p" if word.score > 0 or not signed else "n", 0.0, word.score) + box("z", 0.0, 0.0) + whisker

    return [bar(word) for word in words]
