"""Explain the marks and numbers of a page, as far as the page has them.

The names of the marks are ``for`` and ``against``, ``strong`` (unsigned scores), ``arbitrary`` (scores that are not
estimates), ``insignificant for`` and ``insignificant against`` (the interval includes 0), and ``unread`` (cut off).
"""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from mase.attribution import LISTED, Attribution
from mase.render.facts import effect_lines
from mase.render.palette import has_intervals

__all__ = ["heading", "how_to_read", "legend"]


def heading(marks: frozenset[str], noun: str = "word") -> Markup:
    """Return the heading of a text with these marks on its units; the name of the target follows it."""
    nouns = f"{noun.capitalize()}s"
    if "strong" in marks:
        return Markup(f"{nouns} that <b d>matter</b> to")
    if "arbitrary" in marks:
        return Markup("Scores that are not estimates, for")
    sides = [tag for side, tag in _SIDES.items() if side in marks]
    return Markup(f"{nouns} {' and '.join(sides)}") if sides else Markup(f"No {noun} for or against")


def legend(marks: frozenset[str], explained: str = "class") -> Markup:
    """Return paragraphs that explain these marks and no others; nothing if there are none.

    `explained` is a word for what has a probability, such as a class, or "value".
    """
    number = explained if explained == "value" else f"probability of the {explained}"
    keys = [f"{_KEYS[mark]} {number}" for mark in _KEYS if mark in marks]
    insignificant = [tag for mark, tag in _INSIGNIFICANT.items() if mark in marks]
    if insignificant:
        words = ("not underlined",) if len(insignificant) == 1 else ("not", "underlined")
        shown = " ".join(f"<{tag} l>{word}</{tag}>" for tag, word in zip(insignificant, words, strict=True))
        keys.append(f"{shown}: the 95 % interval includes 0 (not significant)")
    keys += [_UNREAD] if "unread" in marks else []
    spans = " ".join(f"<span>{key}</span>" for key in keys)
    plain = " ".join(f"<span>{_PLAIN[mark].format(explained)}</span>" for mark in _PLAIN if mark in marks)
    paragraphs = [("'legend plain'", plain), ("legend", spans)]
    return Markup("".join(f"<p class={name}>{content}</p>" for name, content in paragraphs if content))


def how_to_read(attributions: Sequence[Attribution], *, hints: bool) -> Iterator[str]:
    """Yield sentences on how to read shades and numbers; `hints` says whether every word has a tooltip."""
    nouns = {attribution.noun for attribution in attributions}
    noun = nouns.pop() if len(nouns) == 1 else "unit"
    if any(attribution.answer is not None for attribution in attributions):
        yield (
            "A number in brackets leads from a part of an answer to one of its sources, and a letter leads back. Point "
            "at a part, or choose its letter, and the sources are shaded for it alone. A source of a part makes "
            "its odds at least ten times as high, beyond the sampling error of all units together; the three strongest "
            "are named."
        )
    if any(attribution.scores.any() for attribution in attributions):
        yield (
            f"Shades are relative to the strongest {noun} of each text; {noun}s below a tenth of its score are not "
            "marked."
        )
    intervals = any(map(has_intervals, attributions))
    if any(attribution.word_scores for attribution in attributions):
        width = " and half the width of its 95 % interval" if intervals else ""
        yield f"Point at a {'' if hints else 'marked '}{noun} to see its score{width}."
    if intervals:
        yield "The intervals cover only the error that comes from evaluating a limited number of perturbed copies."
    yield from _of_several(attributions, noun)
    yield from _of_fit(attributions, noun)


def _of_several(attributions: Sequence[Attribution], noun: str) -> Iterator[str]:
    """Yield sentences on what units do together, and beside others."""
    for effect, (name, copies, those_of_scores) in _EFFECTS.items():
        if any(effect_lines(a) for a in attributions if effect in a.responses[0].effects):
            yield (
                f"“{name.format(noun)}” is how much a {noun} increases the explained number in copies that {copies}; "
                f"the scores are of copies that {those_of_scores}."
            )
    if any(attribution.interactions for attribution in attributions):
        yield (
            f"Two {noun}s that “act together” increase it by that much more than the sum of what each "
            "does without the other."
        )


def _of_fit(attributions: Sequence[Attribution], noun: str) -> Iterator[str]:
    """Yield sentences on the numbers that say how well the scores fit."""
    if any(attribution.r2 is not None for attribution in attributions):
        yield (
            "R² is the share of the variance of the explained number that the scores account for: 1 is all of it, 0 or "
            "less none."
        )
    if any(attribution.r2_held_out is not None for attribution in attributions):
        yield (
            "Held out is R² of perturbed copies that were left out of the fit, without what differs between rounds of "
            "copies."
        )
    if any(attribution.fit.split_half is not None for attribution in attributions):
        yield (
            f"Split-half says how well two halves of the sample agree on the {LISTED} strongest {noun}s (on half of "
            f"the {noun}s of a short text); 1 is perfect."
        )


_FEW_OTHERS = "mask most of the other strong ones"
_MOST_OTHERS = "keep most of the other strong ones and mask the weak ones"
# By further effect: its name, the copies that it is of, and those that the scores are of then.
_EFFECTS = {
    "kept": ("Beside the other strong {}s", _MOST_OTHERS, _FEW_OTHERS),
    "removed": ("Without the other strong {}s", _FEW_OTHERS, _MOST_OTHERS),
}
_SIDES = {"for": "<b d>for</b>", "against": "<i d>against</i>"}
_KEYS = {
    "for": "<b e>solid line</b>: increases the",
    "against": "<i e>dashed line</i>: decreases the",
}
_INSIGNIFICANT = {"insignificant for": "b", "insignificant against": "i"}
_UNREAD = "<s>grey</s>: not read by the model"
_PLAIN = {
    "strong": "<b e>shaded</b>: matters to the {}, in either direction",
    "arbitrary": "<b e>shaded</b>: has a high score, without a standard error",
}
