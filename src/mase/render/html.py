"""Attributions as HTML: one self-contained file without scripts and network access.

Jinja escapes everything that comes from outside (texts, labels, names). The page's content security policy allows only
its own style sheet, by checksum.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

from markupsafe import Markup

from mase.attribution import Attribution, Word
from mase.files import write_text
from mase.render.facts import (
    counted,
    cut_off,
    evidence_facts,
    fit_facts,
    link_meaning,
    meaning,
    origin,
    percent,
    top_classes,
    unit,
)
from mase.render.legend import heading, how_to_read, legend
from mase.render.palette import (
    FAINT_SHADES,
    SHADES,
    Scale,
    error95,
    has_intervals,
    is_significant,
    is_unsigned,
    scale_of,
    strongest,
)
from mase.render.pieces import Piece, inline, pieces
from mase.render.templates import checksum, resource, templates

__all__ = ["fragment", "page", "write_page"]

_PACKAGE = "mase.render"
_TOP_CLASSES = 4
_UNREAD_SHOWN = 4000
# Beyond this many scored words, unmarked words have no tooltip with their score.
_MANY_WORDS = 1500


def page(attributions: Iterable[Attribution], *, numbers: Sequence[int] | None = None, n_failed: int = 0) -> str:
    """Return a self-contained HTML page of the attributions, one below the other.

    Parameters
    ----------
    attributions
        The attributions.
    numbers
        Numbers of their texts, if some texts are missing; 1, 2, ... by default.
    n_failed
        Number of texts of the same run that could not be explained, which the page mentions.
    """
    shown = list(attributions)
    several = len(shown) + n_failed > 1
    text_numbers = range(1, len(shown) + 1) if numbers is None else numbers
    hints = sum(len(attribution.word_scores) for attribution in shown) <= _MANY_WORDS
    views = [_view(a, number=n if several else 0, hints=hints) for n, a in zip(text_numbers, shown, strict=True)]
    style = resource(_PACKAGE, "style.css") + resource(_PACKAGE, "page.css")
    return (
        templates(_PACKAGE)
        .get_template("page.html")
        .render(
            title=_title(shown),
            style=Markup(style),
            style_hash=checksum(style),
            legend=legend(frozenset().union(*(view.marks for view in views))),
            missing=f"{counted(n_failed, 'more text')} could not be explained." if n_failed else "",
            reading=" ".join([*meaning(shown), *how_to_read(shown, hints=hints)]),
            views=views,
            origins=list(dict.fromkeys(" · ".join(origin(attribution)) for attribution in shown)),
        )
    )


def write_page(
    attributions: Iterable[Attribution],
    path: str | PathLike[str],
    *,
    numbers: Sequence[int] | None = None,
    n_failed: int = 0,
) -> str:
    """Return the `page` of the attributions, and write it to `path` atomically.

    Raises
    ------
    DataError
        If the file cannot be written.
    """
    content = page(attributions, numbers=numbers, n_failed=n_failed)
    write_text(path, content)
    return content


def fragment(attribution: Attribution) -> str:
    """Return one attribution as a piece of HTML for a notebook, with the colours of the page around it."""
    view = _view(attribution, number=0, hints=True)
    link = link_meaning(attribution)
    lines = " · ".join([*([] if link is None else [link]), *origin(attribution)])
    style = Markup(resource(_PACKAGE, "style.css"))
    return templates(_PACKAGE).get_template("fragment.html").render(style=style, view=view, origin=lines)


@dataclass(frozen=True, slots=True)
class _ClassRow:
    label: str
    probability: str
    width: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class _WordRow:
    word: str
    number: str
    side: str
    bar: str
    whisker: str


@dataclass(frozen=True, slots=True)
class _View:
    """One attribution as its template shows it."""

    number: int
    predicted: str
    probability: str
    target: str
    other_target: bool
    heading: Markup
    unsigned: bool
    intervals: bool
    marks: frozenset[str]
    text: Markup
    classes: Sequence[_ClassRow]
    words: Sequence[_WordRow]
    evidence: Sequence[str]
    facts: str
    cut: str | None
    notes: Sequence[str]


def _view(attribution: Attribution, *, number: int, hints: bool) -> _View:
    a, scale = attribution, scale_of(attribution)
    shown = pieces(a, longest_unread=_UNREAD_SHOWN)
    marks = frozenset(mark for piece in shown for mark in _marks(a, piece, scale))
    return _View(
        number=number,
        predicted=inline(a.prediction.label),
        probability=percent(a.prediction.probability),
        target=inline(a.target),
        other_target=a.target != a.prediction.label,
        heading=heading(marks),
        unsigned=is_unsigned(a),
        intervals=has_intervals(a),
        marks=marks,
        text=Markup("").join(_piece(piece, scale, hints=hints) for piece in shown),
        classes=_class_rows(a),
        words=_word_rows(strongest(a, _n_listed(len(a.words))), scale),
        evidence=[f"{fact[0].upper()}{fact[1:]}." for fact in evidence_facts(a)],
        facts=" · ".join([f"Scores: {unit(a)}", *fit_facts(a)]),
        cut=cut_off(a),
        notes=[inline(note.message) for note in a.notes],
    )


def _marks(attribution: Attribution, piece: Piece, scale: Scale) -> Iterator[str]:
    """Yield the names of the marks of a piece, which `legend` explains."""
    word = piece.word
    if piece.unread:
        yield "unread"
    if word is None or not scale.level(word, len(SHADES)):
        return
    side = "for" if word.score > 0 else "against"
    if not has_intervals(attribution):
        yield "arbitrary"
    elif is_unsigned(attribution):
        yield "strong"
    else:
        yield side
    if not is_significant(word):
        yield f"insignificant {side}"


def _piece(piece: Piece, scale: Scale, *, hints: bool) -> Markup:
    word = piece.word
    if word is None:
        return Markup("<s>{}</s>").format(piece.text) if piece.unread else Markup.escape(piece.text)
    level, hint = scale.level(word, len(SHADES)), scale.interval(word, "±")
    if not level:
        return Markup("<u title={}>{}</u>").format(hint, piece.text) if hints else Markup.escape(piece.text)
    tag = "b" if word.score > 0 else "i"
    letter = (SHADES if is_significant(word) else FAINT_SHADES)[level - 1]
    return Markup("<{0} {1} title={2}>{3}</{0}>").format(tag, letter, hint, piece.text)


def _class_rows(attribution: Attribution) -> list[_ClassRow]:
    target = inline(attribution.target)
    rows = top_classes(attribution, _TOP_CLASSES)
    return [
        _ClassRow(label, percent(probability), f"{100 * probability:.3g}", label == target)
        for label, probability in rows
    ]


def _word_rows(words: Sequence[Word], scale: Scale) -> list[_WordRow]:
    """Return rows of words with their bars.

    A bar starts at the middle of a drawing of width 100, and the longest whisker ends at its edge.
    """
    widest = max((abs(word.score) + (error95(word) or 0.0) for word in words), default=0.0) or 1.0

    def whisker(word: Word) -> str:
        error = error95(word)
        if error is None:
            return ""
        low, high = (50 + 49 * value / widest for value in (word.score - error, word.score + error))
        return f"M{low:.3g} 6H{high:.3g}"

    return [
        _WordRow(
            word=inline(word.text),
            number=scale.interval(word),
            side="p" if word.score > 0 else "n",
            bar=f"{49 * word.score / widest:.3g}",
            whisker=whisker(word),
        )
        for word in words
    ]


def _n_listed(n_words: int) -> int:
    """Return the number of words to list beside a text: fewer beside a short one."""
    return max(4, min(6, n_words // 8))


def _title(attributions: Sequence[Attribution]) -> str:
    names = list(dict.fromkeys(inline(str(attribution.model.get("name"))) for attribution in attributions))
    texts = "1 text" if len(attributions) == 1 else f"{len(attributions)} texts"
    return f"{texts} explained: {', '.join(names)}" if names else "Nothing to explain"
