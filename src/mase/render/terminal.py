"""Attributions in a terminal: a coloured heat map, and the plain summary that `repr` returns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from textwrap import fill

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from mase.attribution import LISTED, Attribution, Word
from mase.render.answer_terminal import answer_texts, headline
from mase.render.cells import bar, cells
from mase.render.facts import (
    cost_facts,
    cut_off,
    effect_lines,
    evidence_facts,
    interaction_line,
    measured,
    other_notes,
    other_responses,
    quality_facts,
    stated,
    titled,
    top_classes,
    zoomed_facts,
)
from mase.render.meanings import link_meaning, said
from mase.render.numbers import counted, unbroken
from mase.render.palette import (
    BLUE,
    NEUTRAL,
    RED,
    Scale,
    are_estimates,
    is_significant,
    is_unsigned,
    scale_of,
    strongest,
)
from mase.render.pieces import Piece, inline, isolated, labelled, model_name, pieces
from mase.render.windows import window_lines

__all__ = ["HeatMap", "heat_map", "summary"]

# From weak to strong. A background has its own text colour, so that it reads alike on dark and light terminals.
_FOR = (
    Style(color=RED),
    Style(color="#5c0713", bgcolor="#f5b5bb"),
    Style(color="#ffffff", bgcolor="#c81e37", bold=True),
)
_AGAINST = (
    Style(color=BLUE),
    Style(color="#0b2a55", bgcolor="#b9d3f5"),
    Style(color="#ffffff", bgcolor="#1f62c4", bold=True),
)
# Muted colours instead of dim ones: dim blue is illegible on black.
_MUTED_FOR, _MUTED_AGAINST = Style(color="#b0737a"), Style(color="#6d90bd")
# For unsigned scores.
_STRONG = (
    Style(color=NEUTRAL),
    Style(color="#321a58", bgcolor="#dccbf3"),
    Style(color="#ffffff", bgcolor="#7446b4", bold=True),
)
_FAINT = Style(dim=True)
_WARNING = Style(color="#b8860b")
_RELIABLE, _CAREFUL = Style(color="#2e9e63", bold=True), _WARNING + Style(bold=True)
_WIDEST = 100
_UNREAD_SHOWN = 160
_BAR, _LONGEST_WORD, _SHORTEST_WORD = 24, 28, 4


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A rich renderable of one attribution: prediction, verdict, text, the `top` strongest words, and what flips it.

    With `details` also the fit, the cost, further effects and everything else that is known.

    Words that increase the response of the target are red and marked ⁺, words that decrease it are blue and marked ⁻.
    Without colours (NO_COLOR, a pipe) one to three marks show the strength. Words whose interval includes 0 are muted
    and not marked.
    """

    attribution: Attribution
    top: int = LISTED
    details: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        marker = _Marker(
            plain=console.no_color or console.color_system is None,
            ascii_only=options.ascii_only,
            unsigned=is_unsigned(self.attribution),
        )
        narrow = options.update(width=min(options.max_width, _WIDEST))
        for part in _parts(self, marker, narrow.max_width):
            yield from console.render(part, narrow)


def heat_map(attribution: Attribution, *, top: int = LISTED, details: bool = False) -> HeatMap:
    """Return a rich renderable: the text in colours, with the `top` strongest words listed below."""
    return HeatMap(attribution, top, details)


def summary(attribution: Attribution, *, top: int = LISTED) -> str:
    """Return an attribution as a few lines of plain text."""
    a, scale = attribution, scale_of(attribution)
    words = strongest(a, top)
    labels = [labelled(a, word) for word in words]
    width = min(_longest_label(a, _WIDEST), max(map(cell_len, labels), default=0))
    rows = zip(labels, words, strict=True)
    answered = [] if a.answer is None else [text.plain for text in answer_texts(a, _WIDEST, ascii_only=False)]
    lines = [
        _headline(a),
        inline(str(a.verdict)),
        *answered,
        *(f"  {cells(label, width)}  {scale.interval(word)}" for label, word in rows),
    ]
    return "\n".join(
        [*lines, *_closing(a, len(words)), *evidence_facts(a, isolated), *other_responses(a), *zoomed_facts(a)]
    )


@dataclass(frozen=True, slots=True)
class _Marker:
    """Marks and styles of words, within what the terminal can show."""

    plain: bool
    ascii_only: bool
    unsigned: bool

    @property
    def plus(self) -> str:
        return "+" if self.ascii_only else "⁺"

    @property
    def minus(self) -> str:
        return "-" if self.ascii_only else "⁻"

    def marks(self, word: Word, scale: Scale) -> str:
        level = scale.level(word, 3)
        if not level or not is_significant(word):
            return ""
        if self.unsigned:
            return ("*" if self.ascii_only else "•") * level if self.plain else ""
        return (self.plus if word.score > 0 else self.minus) * (level if self.plain else 1)

    def style(self, word: Word, scale: Scale) -> Style:
        level = scale.level(word, 3)
        if not level:
            return Style.null()
        if self.unsigned:
            return _STRONG[level - 1]
        if not is_significant(word):
            return _MUTED_FOR if word.score > 0 else _MUTED_AGAINST
        return (_FOR if word.score > 0 else _AGAINST)[level - 1]

    def piece(self, piece: Piece, scale: Scale) -> Text:
        if piece.name:
            return Text(f"{piece.text}: ", _FAINT)
        if piece.word is not None:
            return Text(piece.text + self.marks(piece.word, scale), self.style(piece.word, scale))
        if not piece.unread or not piece.text.strip():
            return Text(piece.text)
        opening, closing = ("[", "]") if self.ascii_only else ("⟦", "⟧")
        inner = piece.text.strip()
        return Text(piece.text.replace(inner, f"{opening}{inner}{closing}") if self.plain else piece.text, _FAINT)


def _parts(shown: HeatMap, marker: _Marker, narrow: int) -> Iterator[Text]:
    a, details = shown.attribution, shown.details
    yield _prediction(a, marker)
    yield from _scored(a, shown.top, marker, narrow, details=details)
    facts = evidence_facts(a, isolated) if a.verdict.matters else []  # that nothing matters is all there is to say
    yield from (_prose(fact, narrow) for fact in (facts if details else facts[:1]))
    for line in other_responses(a):
        yield Text(line, no_wrap=True, overflow="ellipsis")
    if a.zoomed is not None:
        yield Text()
        yield from (Text(line, "bold") for line in zoomed_facts(a)[:1])
        yield from _scored(a.zoomed, shown.top, marker, narrow, details=details)


def _prose(line: str, width: int, style: Style | str = "") -> Text:
    """Return a line that is broken between words, and not before a percent sign, at which rich would break it."""
    return Text(fill(unbroken(line), width, break_on_hyphens=False).replace("\u00a0", " "), style)


def _scored(attribution: Attribution, top: int, marker: _Marker, narrow: int, *, details: bool) -> Iterator[Text]:
    """Yield the verdict, the text or the answer with its sources, and the strongest units."""
    scale = scale_of(attribution)
    yield _verdict(attribution, narrow, details=details)
    if attribution.answer is None:
        yield Text()
        running = Text.assemble(
            *(marker.piece(piece, scale) for piece in pieces(attribution, longest_unread=_UNREAD_SHOWN))
        )
        running.overflow = "fold"
        yield from (running, Text())
    else:
        yield from answer_texts(attribution, narrow, ascii_only=marker.ascii_only)
    words = strongest(attribution, top)
    if words:
        yield _rows(attribution, words, scale, marker, narrow)
    for line in _closing(attribution, len(words), details=details):
        yield _prose(line, narrow, _WARNING if line.startswith("warning") else _FAINT)


def _prediction(attribution: Attribution, marker: _Marker) -> Text:
    a = attribution
    if a.answer is not None:
        return headline(a)
    line = Text.assemble((isolated(a.prediction.label), "bold"), f" {stated(a.prediction)}")
    predicted = inline(a.prediction.label)
    others = [f" · {isolated(label)} {number}" for label, number, _ in top_classes(a, 3) if label != predicted]
    line.append("".join(others), _FAINT)
    if not are_estimates(a):
        return line.append("   scores that are not estimates, for ").append(titled(a), "bold")
    if marker.unsigned:
        return line.append(f"   {a.noun}s that ").append("matter", _STRONG[0]).append(" to ").append(titled(a), "bold")
    return line.append_text(_sides(a, marker)).append(" ").append(titled(a), "bold")


def _verdict(attribution: Attribution, narrow: int, *, details: bool) -> Text:
    verdict = attribution.verdict
    line = _prose(inline(str(verdict if details else replace(verdict, reasons=verdict.reasons[:1]))), narrow)
    line.stylize(_RELIABLE if verdict.reliable else _CAREFUL, 0, line.plain.index(":"))
    return line


def _sides(attribution: Attribution, marker: _Marker) -> Text:
    """Return the legend of the marks in the text."""
    scale = scale_of(attribution)
    signs = {word.score > 0 for word in attribution.word_scores if scale.level(word, 3)}
    sides = [Text("for" + marker.plus, _FOR[0])] if True in signs else []
    sides += [Text("against" + marker.minus, _AGAINST[0])] if False in signs else []
    if not sides:
        return Text(f"   no {attribution.noun} for or against")
    return Text(f"   {attribution.noun}s ").append_text(Text(" and ").join(sides))


def _rows(attribution: Attribution, words: tuple[Word, ...], scale: Scale, marker: _Marker, room: int) -> Text:
    labels, numbers = [labelled(attribution, word) for word in words], [scale.interval(word) for word in words]
    digits = max(map(len, numbers))  # which are never cut off: names get shorter, and then bars
    width = min(_longest_label(attribution, room), max(map(cell_len, labels)), max(_SHORTEST_WORD, room - digits - 7))
    longest = max(1, min(_BAR, room - width - digits - 6))
    rows = Text(no_wrap=True, overflow="ellipsis")
    for word, label, number in zip(words, labels, numbers, strict=True):
        style, muted = (_FOR[0], _MUTED_FOR) if word.score > 0 else (_AGAINST[0], _MUTED_AGAINST)
        style = _STRONG[0] if marker.unsigned else style
        rows.append(f"  {cells(label, width)}  {number:>{digits}}  ")
        share = abs(word.score) / scale.maximum if scale.maximum else 0.0
        rows.append(bar(share, longest, ascii_only=marker.ascii_only) + "\n", style if is_significant(word) else muted)
    return rows


def _longest_label(attribution: Attribution, room: int) -> int:
    """Return the cells for the name of a unit: more for the long ones of an answer's sources, where there is room."""
    return _LONGEST_WORD if attribution.answer is None else max(_LONGEST_WORD, room - _BAR - 24)


def _headline(attribution: Attribution) -> str:
    a = attribution
    if a.answer is not None:
        return headline(a).plain
    predicted = f"predicted {isolated(a.prediction.label)} {stated(a.prediction)}"
    return f"Attribution for {titled(a)} by {model_name(a.model.get('name'))}: {predicted}"


def _closing(attribution: Attribution, shown: int, *, details: bool = True) -> list[str]:
    """Return the lines below the words: what the scores are, what was not read and warnings; with details also the fit.

    Scores of an answer are said with its parts.
    """
    a = attribution
    cut, meant = cut_off(a), said(a, titled(a))
    lines = [meant] if shown else []
    if details:
        n_words = counted(len(a.words), a.noun)
        listed = f"{shown} strongest of {n_words}" if shown < len(a.words) else n_words
        method, link = f"{inline(str(a.method.get('name')))}, seed {a.seed}", link_meaning(a)
        lines = [f"{listed}; {measured(a)}", *([] if link is None else [link]), *interaction_line(a, isolated)]
        lines += effect_lines(a, isolated)
        lines += [" · ".join(facts) for facts in (quality_facts(a), [*cost_facts(a), method]) if facts]
    lines += [] if cut is None else [f"cut off: {cut}"]
    lines += window_lines(a) if details else []
    return lines + [f"warning: {inline(note.message)} [{inline(note.code)}]" for note in other_notes(a)]
