"""Attributions as their templates show them: marked text, words with bars, classes, facts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from mase.attribution import Attribution, Verdict, Word
from mase.render.answers import AnswerView, answer_view
from mase.render.bars import bars
from mase.render.cells import shortened
from mase.render.facts import (
    cost_facts,
    cut_off,
    effect_lines,
    evidence_facts,
    interaction_line,
    origin,
    other_notes,
    other_responses,
    quality_facts,
    stated,
    top_classes,
    unit,
    zoomed_facts,
)
from mase.render.legend import heading
from mase.render.meanings import meaning
from mase.render.numbers import unbroken
from mase.render.palette import (
    FAINT_SHADES,
    SHADES,
    Scale,
    are_estimates,
    has_intervals,
    is_significant,
    is_unsigned,
    scale_of,
    strongest,
)
from mase.render.pieces import Piece, inline, isolated, labelled, pieces
from mase.render.windows import window_lines

__all__ = ["View", "view_of"]

_TOP_CLASSES = 4
_LONGEST_NAME = 80
_UNREAD_SHOWN = 4000


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
    bar: Markup


@dataclass(frozen=True, slots=True)
class View:
    """One attribution as its template shows it.

    Attributes
    ----------
    number
        Number of the text on a page of several; 0 on a page of one.
    against
        The class that the target is compared with; empty if there is none.
    marks
        Names of the marks in the text, which `legend` explains.
    group
        Number of the predicted class on a page of several texts, by which it can be filtered.
    answer
        The answer of a language model with its sources; None for other attributions.
    n_scored
        Number of the words whose scores can be shown in the text; 0 if `words` are all, or the page is large.
    zoom, zoomed
        Which units are explained word by word, and the view of these words; empty and None if none are.
    """

    number: int
    group: int
    verdict: Verdict
    predicted: str
    probability: str
    target: str
    against: str
    other_target: bool
    heading: Markup
    unsigned: bool
    intervals: bool
    marks: frozenset[str]
    text: Markup
    classes: Sequence[_ClassRow]
    n_more_classes: int
    words: Sequence[_WordRow]
    n_scored: int
    pairs: Sequence[str]
    others: Sequence[str]
    evidence: Sequence[str]
    facts: Sequence[str]
    cut: str | None
    windows: Sequence[str]
    notes: Sequence[str]
    noun: str
    zoom: str
    zoomed: "View | None"
    more: Sequence[str]
    answer: AnswerView | None

    @property
    def kinds(self) -> str:
        """The classes of the article."""
        kinds = {
            f"t g{self.group}": self.number,
            "care": self.number and not self.verdict.reliable,
            "plain": self.unsigned,
            "cites": self.answer,
        }
        return " ".join(name for name, is_there in kinds.items() if is_there)


def view_of(
    attribution: Attribution,
    *,
    number: int = 0,
    group: int = 0,
    hints: bool,
    buttons: bool = False,
    alone: bool = False,
) -> View:
    """Return an attribution as its template shows it.

    Parameters
    ----------
    attribution
        The attribution.
    number, group
        Numbers of the text and of its predicted class on a page of several texts.
    hints
        Whether unmarked words have a tooltip with their score.
    buttons
        Whether the units of the text are buttons.
    alone
        Whether the details also say what the scores mean and where they come from, because nothing else does.
    """
    a, scale, verdict = attribution, scale_of(attribution), attribution.verdict
    shown = pieces(a, longest_unread=_UNREAD_SHOWN)
    marks = frozenset(mark for piece in shown for mark in _marks(a, piece, scale))
    zoomed = None if a.zoomed is None else view_of(a.zoomed, hints=hints)
    classes, listed = _class_rows(a), _word_rows(a, strongest(a, _n_listed(len(a.words))), scale)
    first = next((piece.unit for piece in shown if piece.unit is not None), None)

    def attributes(piece: Piece) -> Markup:
        hint = Markup(' title="{}"').format(scale.interval(piece.word, "±")) if hints and piece.word else Markup("")
        return hint + Markup(_button(piece, first) if buttons else "")

    return View(
        number=number,
        group=group,
        verdict=replace(verdict, reasons=tuple(unbroken(inline(reason)) for reason in verdict.reasons)),
        predicted=inline(a.prediction.label),
        probability=unbroken(stated(a.prediction)),
        target=shortened(inline(a.target), _LONGEST_NAME),
        against=shortened(inline(a.responses[0].against or ""), _LONGEST_NAME),
        other_target=a.prediction.probability is not None and a.target != a.prediction.label,
        heading=heading(marks, a.noun),
        unsigned=is_unsigned(a),
        intervals=has_intervals(a),
        marks=marks.union(_marks_of_parts(a), zoomed.marks if zoomed else ()),
        text=Markup("").join(
            _piece(
                piece, scale, signed=not is_unsigned(a), hints=hints, button=_button(piece, first) if buttons else ""
            )
            for piece in shown
        ),
        classes=classes,
        n_more_classes=len(a.prediction.probabilities or a.prediction.values) - len(classes),
        words=listed,
        n_scored=len(a.words) if hints and len(a.words) > len(listed) else 0,
        pairs=[
            f"{line[0].upper()}{line[1:]}." for line in (*interaction_line(a, isolated), *effect_lines(a, isolated))
        ],
        others=other_responses(a),
        evidence=[f"{fact[0].upper()}{unbroken(fact[1:])}." for fact in evidence_facts(a, isolated)],
        facts=[f"scores: {unit(a)}", *quality_facts(a), *cost_facts(a)],
        cut=_cut(a, marks),
        windows=window_lines(a),
        notes=[inline(note.message) for note in other_notes(a)],
        noun=a.noun,
        zoom=next((f"{fact[0].upper()}{fact[1:]}" for fact in zoomed_facts(a)), ""),
        zoomed=zoomed,
        more=[*meaning([a]), " · ".join(origin(a))] if alone else [],
        answer=None
        if a.answer is None
        else answer_view(a, number=number, longest_unread=_UNREAD_SHOWN, attributes=attributes),
    )


def _cut(attribution: Attribution, marks: frozenset[str]) -> str | None:
    """Return a sentence on what the model read, and how a text with these marks shows the rest; None if it read all."""
    cut = cut_off(attribution)
    if cut is None:
        return None
    return f"{cut[0].upper()}{cut[1:]}{', and not what is grey' if 'unread' in marks else ''}."


def _marks(attribution: Attribution, piece: Piece, scale: Scale) -> Iterator[str]:
    """Yield the names of the marks of a piece, which `legend` explains."""
    word = piece.word
    if piece.unread:
        yield "unread"
    if word is None or not scale.level(word, len(SHADES)):
        return
    side = "for" if word.score > 0 else "against"
    if not are_estimates(attribution):
        yield "arbitrary"
    elif is_unsigned(attribution):
        yield "strong"
    else:
        yield side
    if not is_significant(word):
        yield f"insignificant {side}"


def _marks_of_parts(attribution: Attribution) -> Iterator[str]:
    """Yield the names of the marks that the units of an answer's sources have for its parts."""
    for part in attribution.answer.parts if attribution.answer else ():
        found = attribution.of(part.response)
        scale = scale_of(found)
        for word in found.word_scores:
            yield from _marks(found, Piece(word.text, word), scale)


def _button(piece: Piece, first: int | None) -> str:
    """Return the attributes of a unit that is a button; only the first one of a text is reached by the Tab key."""
    tab = 0 if piece.unit == first else -1
    return f" data-unit={piece.unit} role=button aria-pressed=false tabindex={tab}"


def _piece(piece: Piece, scale: Scale, *, signed: bool, hints: bool, button: str) -> Markup:
    word = piece.word
    if piece.name:
        return Markup("<small>{}</small> ").format(piece.text)
    if word is None:
        return Markup("<s>{}</s>").format(piece.text) if piece.unread else Markup.escape(piece.text)
    level, hint = scale.level(word, len(SHADES)), scale.interval(word, "±")
    if not (level or hints or button):
        return Markup.escape(piece.text)
    if not level:
        return Markup("<u{} title={}>{}</u>").format(Markup(button), hint, piece.text)
    tag = "b" if word.score > 0 or not signed else "i"
    letter = (SHADES if is_significant(word) else FAINT_SHADES)[level - 1]
    return Markup("<{0} {1}{2} title={3}>{4}</{0}>").format(tag, letter, Markup(button), hint, piece.text)


def _class_rows(attribution: Attribution) -> list[_ClassRow]:
    target = inline(attribution.target)
    return [
        _ClassRow(label, unbroken(number), f"{100 * bar:.3g}", label == target)
        for label, number, bar in top_classes(attribution, _TOP_CLASSES)
    ]


def _word_rows(attribution: Attribution, words: Sequence[Word], scale: Scale) -> list[_WordRow]:
    labels = [labelled(attribution, word) for word in words]
    drawn = bars(words, signed=not is_unsigned(attribution))
    return [_WordRow(label, scale.interval(word), bar) for label, word, bar in zip(labels, words, drawn, strict=True)]


def _n_listed(n_words: int) -> int:
    """Return the number of words to list beside a text: the five of the verdict, one more beside a long text."""
    return max(5, min(6, n_words // 8))
