"""Results in a terminal: heat maps, summaries, answers and lists."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import fill

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.style import Style
from rich.text import Text

from mase.attribution.attribution import Attribution, Word
from mase.attribution.response import LISTED
from mase.render.answers import (
    CitedPart,
    cited_parts,
    origin_of_answer,
    part_facts,
    place,
    source_numbers,
    subject,
    texts_of,
    why_no_source,
)
from mase.render.html import style_of, templates, view_of
from mase.render.marks import (
    BLUE,
    NEUTRAL,
    RED,
    Piece,
    Scale,
    are_estimates,
    bar,
    cells,
    inline,
    is_significant,
    is_unsigned,
    isolated,
    labelled,
    model_name,
    pieces,
    scale_of,
    shortened_to_width,
    strongest,
    visible,
)
from mase.render.wording import (
    TOLD,
    cost_facts,
    counted,
    cut_off,
    effect_lines,
    evidence_facts,
    interaction_line,
    link_meaning,
    measured,
    other_notes,
    other_responses,
    quality_facts,
    said,
    stated,
    titled,
    top_classes,
    unbroken,
    window_lines,
    zoomed_facts,
)

_ANSWER_TERMINAL_FAINT, _BOLD, _RED = Style(dim=True), Style(bold=True), Style(color=RED)
_ANSWER_TERMINAL_BAR = 24
_LONGEST_SOURCE, _LONGEST_FIXED = 300, 300


def answer_headline(attribution: Attribution) -> Text:
    """Return who gave the answer."""
    return Text.assemble(("Answer", _BOLD), f" {origin_of_answer(attribution)}")


def answer_texts(attribution: Attribution, room: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield the lines of an answer, which fit into `room` cells as far as bars are concerned.

    They are the text that is never left out, the answer with the numbers of its sources, and the sources with a bar for
    each part of the answer that they support.
    """
    parts = cited_parts(attribution)
    numbers = source_numbers(parts)
    for field in texts_of(attribution):
        if field.fixed:
            yield Text(
                f"{inline(field.name)} (fixed): {shortened_to_width(isolated(field.text), _LONGEST_FIXED)}",
                _ANSWER_TERMINAL_FAINT,
            )
    yield Text()
    yield _answer(attribution, parts, numbers)
    other = attribution.responses[0].against
    if other is not None:
        yield Text(f"rather than: {visible(other)}", _ANSWER_TERMINAL_FAINT)
    yield Text()
    for unit, number in numbers.items():
        yield _source(attribution, unit, number)
        yield from _supports(parts, unit, room, ascii_only=ascii_only)
    yield from [Text()] if numbers else []
    for part in parts:
        reason = [] if part.sources else [why_no_source(part)]
        yield Text.assemble(
            (f"({part.letter}) " if part.letter else "", _BOLD), " · ".join([*part_facts(part), *reason])
        )
    yield Text()
    yield Text(f"strongest {attribution.noun}s for {subject(attribution, parts)}:", _ANSWER_TERMINAL_FAINT)


def _answer(attribution: Attribution, parts: Sequence[CitedPart], numbers: Mapping[int, int]) -> Text:
    """Return the answer, each part between its letter and the numbers of its sources."""
    text = attribution.answer.text if attribution.answer else ""
    written, at = Text(overflow="fold"), 0
    for part in parts:
        start, end = max(at, part.start), max(at, part.end)
        written.append(visible(text[at:start]))
        written.append(f"({part.letter}) " if part.letter else "", _ANSWER_TERMINAL_FAINT)
        written.append(visible(text[start:end]))
        cited = "".join(f"[{numbers[unit]}]" for unit in part.sources) or "[no source]"
        written.append(f" {cited}", _BOLD)
        at = end
    return written.append(visible(text[at:]))


def _source(attribution: Attribution, unit: int, number: int) -> Text:
    """Return a source with its number and the name of its text."""
    word = attribution.word_scores[unit]
    where = place(attribution, word)
    said = shortened_to_width(isolated(" ".join(word.text.split())), _LONGEST_SOURCE)
    return Text.assemble((f"[{number}] ", _BOLD), (f"{where}: " if where else "", _ANSWER_TERMINAL_FAINT), said)


def _supports(parts: Sequence[CitedPart], unit: int, room: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield a line with the score of a source for each part that it supports."""
    for part in parts:
        if unit in part.sources:
            scale, word = scale_of(part.found), part.found.word_scores[unit]
            line = Text(f"    {f'({part.letter})':5}" if part.letter else "    ", no_wrap=True, overflow="ellipsis")
            line.append(f"{scale.interval(word):<18}")
            share = word.score / scale.maximum if scale.maximum else 0.0
            yield line.append(
                bar(share, max(1, min(_ANSWER_TERMINAL_BAR, room - line.cell_len - 1)), ascii_only=ascii_only), _RED
            )


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

_TERMINAL_FAINT = Style(dim=True)
_WARNING = Style(color="#b8860b")
_RELIABLE, _CAREFUL = Style(color="#2e9e63", bold=True), _WARNING + Style(bold=True)
_WIDEST = 100
_UNREAD_SHOWN = 160
_TERMINAL_BAR, _TERMINAL_LONGEST_WORD, _SHORTEST_WORD = 24, 28, 4


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
            return Text(f"{piece.text}: ", _TERMINAL_FAINT)
        if piece.word is not None:
            return Text(piece.text + self.marks(piece.word, scale), self.style(piece.word, scale))
        if not piece.unread or not piece.text.strip():
            return Text(piece.text)
        opening, closing = ("[", "]") if self.ascii_only else ("⟦", "⟧")
        inner = piece.text.strip()
        return Text(
            piece.text.replace(inner, f"{opening}{inner}{closing}") if self.plain else piece.text, _TERMINAL_FAINT
        )


def _parts(shown: HeatMap, marker: _Marker, narrow: int) -> Iterator[Text]:
    a, details = shown.attribution, shown.details
    yield _terminal_prediction(a, marker)
    yield from _scored(a, shown.top, marker, narrow, details=details)
    facts = evidence_facts(a, isolated)
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
        yield _prose(line, narrow, _WARNING if line.startswith("warning") else _TERMINAL_FAINT)


def _terminal_prediction(attribution: Attribution, marker: _Marker) -> Text:
    a = attribution
    if a.answer is not None:
        return answer_headline(a)
    line = Text.assemble((isolated(a.prediction.label), "bold"), f" {stated(a.prediction)}")
    predicted = inline(a.prediction.label)
    others = [f" · {isolated(label)} {number}" for label, number, _ in top_classes(a, 3) if label != predicted]
    line.append("".join(others), _TERMINAL_FAINT)
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
    longest = max(1, min(_TERMINAL_BAR, room - width - digits - 6))
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
    return (
        _TERMINAL_LONGEST_WORD if attribution.answer is None else max(_TERMINAL_LONGEST_WORD, room - _TERMINAL_BAR - 24)
    )


def _headline(attribution: Attribution) -> str:
    a = attribution
    if a.answer is not None:
        return answer_headline(a).plain
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
    notes = [("note" if note.code in TOLD else "warning", note) for note in other_notes(a)]
    return lines + [f"{kind}: {inline(note.message)} [{inline(note.code)}]" for kind, note in notes]


_LINES, _ARTICLES = 20, 10
_WORDS, _LISTING_LONGEST_WORD, _LONGEST_LABEL, _LONGEST_ANSWER = 3, 20, 24, 40


def listing(attributions: Sequence[Attribution]) -> str:
    """Return a line of plain text for each attribution, at most 20: number, prediction or answer, strongest words."""
    shown = attributions[:_LINES]
    predictions = list(map(_listed_prediction, shown))
    width, digits = max(map(cell_len, predictions), default=0), len(str(len(shown)))
    lines = [
        f" {number:>{digits}}  {set_cell_size(prediction, width)}  {_words(attribution)}{_care(attribution)}"
        for number, (prediction, attribution) in enumerate(zip(predictions, shown, strict=True), 1)
    ]
    left = len(attributions) - len(shown)
    return "\n".join([counted(len(attributions), "attribution"), *lines, *([f" … {left:,} more"] if left else [])])


def listing_headline(attribution: Attribution) -> str:
    """Return prediction, or answer, and strongest words of an attribution on one line."""
    return f"{_listed_prediction(attribution)}  {_words(attribution)}"


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


def _listed_prediction(attribution: Attribution) -> str:
    if attribution.answer is not None:
        return shortened_to_width(isolated(attribution.answer.text), _LONGEST_ANSWER)
    predicted = attribution.prediction
    return f"{isolated(shortened_to_width(inline(predicted.label), _LONGEST_LABEL))} {stated(predicted)}"


def _words(attribution: Attribution) -> str:
    """Return the strongest words that displays mark, with their scores."""
    scale = scale_of(attribution)
    marked = [word for word in strongest(attribution, _WORDS) if scale.level(word, 1) and is_significant(word)]
    labels = [isolated(shortened_to_width(labelled(attribution, word), _LISTING_LONGEST_WORD)) for word in marked]
    words = [f"{label} {scale.signed(word.score)}" for label, word in zip(labels, marked, strict=True)]
    other = "" if attribution.title == attribution.prediction.label else f"for {titled(attribution)}: "
    return other + (", ".join(words) or f"no {attribution.noun} for or against")


def _care(attribution: Attribution) -> str:
    return "" if attribution.verdict.reliable else " (read with care)"
