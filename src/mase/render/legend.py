"""What the marks and numbers of a page mean, as far as it has them.

Marks are told by name: ``for`` and ``against``, ``strong`` (of scores without a direction), ``arbitrary`` (of scores
that estimate nothing), ``unsure for`` and ``unsure against`` (the interval includes 0), ``unread`` (cut off).
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from mase.attribution import LISTED, Attribution
from mase.render.palette import has_intervals

__all__ = ["heading", "legend", "reading"]


def heading(marks: frozenset[str]) -> Markup:
    """Return what stands before the target's name, above a text with these marks."""
    if "strong" in marks:
        return Markup("Words that <b d>matter</b> to")
    if "arbitrary" in marks:
        return Markup("Scores that estimate nothing, for")
    sides = [tag for side, tag in _SIDES.items() if side in marks]
    return Markup(f"Words {' and '.join(sides)}") if sides else Markup("No word for or against")


def legend(marks: frozenset[str]) -> Markup:
    """Return paragraphs that explain these marks and no other; nothing where there are none."""
    keys = [_KEYS[mark] for mark in _KEYS if mark in marks]
    unsure = [tag for mark, tag in _UNSURE.items() if mark in marks]
    if unsure:
        words = ("not underlined",) if len(unsure) == 1 else ("not", "underlined")
        shown = " ".join(f"<{tag} l>{word}</{tag}>" for tag, word in zip(unsure, words, strict=True))
        keys.append(f"{shown}: the 95 % interval includes 0")
    keys += [_UNREAD] if "unread" in marks else []
    spans = " ".join(f"<span>{key}</span>" for key in keys)
    plain = " ".join(f"<span>{_PLAIN[mark]}</span>" for mark in _PLAIN if mark in marks)
    found = [("'legend plain'", plain), ("legend", spans)]
    return Markup("".join(f"<p class={name}>{keys}</p>" for name, keys in found if keys))


def reading(attributions: Sequence[Attribution], *, hints: bool) -> Iterator[str]:
    """Yield how shades and numbers are to be read; `hints` says whether every word tells its number."""
    if any(attribution.scores.any() for attribution in attributions):
        yield "Shades are relative to the strongest word of each text; words below a tenth of it are not marked."
    intervals = any(has_intervals(attribution) and attribution.word_scores for attribution in attributions)
    if any(attribution.word_scores for attribution in attributions):
        width = " and half the width of its 95 % interval" if intervals else ""
        yield f"Point at a {'' if hints else 'marked '}word to see its score{width}."
    if intervals:
        yield "An interval is of the sampling error alone, given what the model was asked."
    if any(attribution.r2 is not None for attribution in attributions):
        yield "R² is the share of the variation of the model's answers that the scores explain."
    if any(attribution.fit.split_half is not None for attribution in attributions):
        yield (
            f"Split-half is the share of the strength of the {LISTED} strongest words (half of them in a short text) that half "
            "of the sample finds again."
        )


_SIDES = {"for": "<b d>for</b>", "against": "<i d>against</i>"}
_KEYS = {
    "for": "<b e>solid red</b> speaks for the class",
    "against": "<i e>dashed blue</i> speaks against it",
}
_UNSURE = {"unsure for": "b", "unsure against": "i"}
_UNREAD = "<s>grey</s>: not read by the model"
_PLAIN = {
    "strong": "<b e>violet</b> matters, for the class or against it",
    "arbitrary": "<b e>violet</b> has a high score, which says nothing about the word",
}
