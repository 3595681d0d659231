"""Answers with their sources in a terminal: numbers in brackets name the sources, which are listed below the answer."""

from collections.abc import Iterator, Mapping, Sequence

from rich.style import Style
from rich.text import Text

from mase.attribution import Attribution
from mase.render.cells import bar, shortened
from mase.render.cited import (
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
from mase.render.palette import RED, scale_of
from mase.render.pieces import inline, isolated, visible

__all__ = ["answer_texts", "headline"]

_FAINT, _BOLD, _RED = Style(dim=True), Style(bold=True), Style(color=RED)
_BAR = 24
_LONGEST_SOURCE, _LONGEST_FIXED = 300, 300


def headline(attribution: Attribution) -> Text:
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
            yield Text(f"{inline(field.name)} (fixed): {shortened(isolated(field.text), _LONGEST_FIXED)}", _FAINT)
    yield Text()
    yield _answer(attribution, parts, numbers)
    other = attribution.responses[0].against
    if other is not None:
        yield Text(f"rather than: {visible(other)}", _FAINT)
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
    yield Text(f"strongest {attribution.noun}s for {subject(attribution, parts)}:", _FAINT)


def _answer(attribution: Attribution, parts: Sequence[CitedPart], numbers: Mapping[int, int]) -> Text:
    """Return the answer, each part between its letter and the numbers of its sources."""
    text = attribution.answer.text if attribution.answer else ""
    written, at = Text(overflow="fold"), 0
    for part in parts:
        start, end = max(at, part.start), max(at, part.end)
        written.append(visible(text[at:start]))
        written.append(f"({part.letter}) " if part.letter else "", _FAINT)
        written.append(visible(text[start:end]))
        cited = "".join(f"[{numbers[unit]}]" for unit in part.sources) or "[no source]"
        written.append(f" {cited}", _BOLD)
        at = end
    return written.append(visible(text[at:]))


def _source(attribution: Attribution, unit: int, number: int) -> Text:
    """Return a source with its number and the name of its text."""
    word = attribution.word_scores[unit]
    where = place(attribution, word)
    said = shortened(isolated(" ".join(word.text.split())), _LONGEST_SOURCE)
    return Text.assemble((f"[{number}] ", _BOLD), (f"{where}: " if where else "", _FAINT), said)


def _supports(parts: Sequence[CitedPart], unit: int, room: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield a line with the score of a source for each part that it supports."""
    for part in parts:
        if unit in part.sources:
            scale, word = scale_of(part.found), part.found.word_scores[unit]
            line = Text(f"    {f'({part.letter})':5}" if part.letter else "    ", no_wrap=True, overflow="ellipsis")
            line.append(f"{scale.interval(word):<18}")
            share = word.score / scale.maximum if scale.maximum else 0.0
            yield line.append(bar(share, max(1, min(_BAR, room - line.cell_len - 1)), ascii_only=ascii_only), _RED)
