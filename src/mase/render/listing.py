"""Several attributions for an interactive session: a line for each, or the first articles of the page."""

from collections.abc import Sequence

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

from mase.attribution import Attribution
from mase.render.cells import shortened
from mase.render.facts import stated, titled
from mase.render.html import style_of
from mase.render.numbers import counted
from mase.render.palette import is_significant, scale_of, strongest
from mase.render.pieces import inline, isolated, labelled
from mase.render.templates import templates
from mase.render.views import view_of

__all__ = ["headline", "listing", "listing_html"]

_LINES, _ARTICLES = 20, 10
_WORDS, _LONGEST_WORD, _LONGEST_LABEL, _LONGEST_ANSWER = 3, 20, 24, 40


def listing(attributions: Sequence[Attribution]) -> str:
    """Return a line of plain text for each attribution, at most 20: number, prediction or answer, strongest words."""
    shown = attributions[:_LINES]
    predictions = list(map(_prediction, shown))
    width, digits = max(map(cell_len, predictions), default=0), len(str(len(shown)))
    lines = [
        f" {number:>{digits}}  {set_cell_size(prediction, width)}  {_words(attribution)}{_care(attribution)}"
        for number, (prediction, attribution) in enumerate(zip(predictions, shown, strict=True), 1)
    ]
    left = len(attributions) - len(shown)
    return "\n".join([counted(len(attributions), "attribution"), *lines, *([f" … {left:,} more"] if left else [])])


def headline(attribution: Attribution) -> str:
    """Return prediction, or answer, and strongest words of an attribution on one line."""
    return f"{_prediction(attribution)}  {_words(attribution)}"


def listing_html(attributions: Sequence[Attribution]) -> str:
    """Return the articles of at most 10 attributions as a piece of HTML, and say how to see the others."""
    shown = attributions[:_ARTICLES]
    n_left = len(attributions) - len(shown)
    views = [view_of(attribution, number=number, hints=True) for number, attribution in enumerate(shown, 1)]
    return (
        templates("mase.render")
        .get_template("listing.html")
        .render(
            style=Markup(style_of(views)),
            views=views,
            more=counted(n_left, "more text") if n_left else "",
            start=len(shown),
        )
    )


def _prediction(attribution: Attribution) -> str:
    if attribution.answer is not None:
        return shortened(isolated(attribution.answer.text), _LONGEST_ANSWER)
    predicted = attribution.prediction
    return f"{isolated(shortened(inline(predicted.label), _LONGEST_LABEL))} {stated(predicted)}"


def _words(attribution: Attribution) -> str:
    """Return the strongest words that displays mark, with their scores."""
    scale = scale_of(attribution)
    marked = [word for word in strongest(attribution, _WORDS) if scale.level(word, 1) and is_significant(word)]
    labels = [isolated(shortened(labelled(attribution, word), _LONGEST_WORD)) for word in marked]
    words = [f"{label} {scale.signed(word.score)}" for label, word in zip(labels, marked, strict=True)]
    other = "" if attribution.title == attribution.prediction.label else f"for {titled(attribution)}: "
    return other + (", ".join(words) or f"no {attribution.noun} for or against")


def _care(attribution: Attribution) -> str:
    return "" if attribution.verdict.reliable else " (read with care)"
