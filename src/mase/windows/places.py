"""Where the windows of a long text may begin and end: between its units and words, and between tokens of the model."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from mase.document import Document
from mase.errors import EmptyTextError
from mase.models.protocol import Model
from mase.text import Span, Tokens
from mase.units.grouping import grown

__all__ = ["only", "places", "with_words"]

# Units in the first part of the text whose tokens are looked at.
_FIRST_PART, _SMALLEST_PART = 512, 16


def only(document: Document, index: int, span: Span) -> Document:
    """Return the document with nothing but a part of the text in a field."""
    fields = list(document.fields)
    fields[index] = replace(fields[index], text=fields[index].text[slice(*span)])
    return replace(document, fields=tuple(fields))


def with_words(words: Sequence[Span], units: Sequence[Span]) -> list[Span]:
    """Return units together with the words between them."""
    starts = [start for start, _ in units]
    between = []
    for start, end in words:
        at = bisect_left(starts, end)  # the units before it begin before it ends
        if not at or units[at - 1][1] <= start:
            between.append((start, end))
    return sorted([*units, *between])


def places(model: Model, document: Document, index: int, spans: Sequence[Span]) -> list[Span]:
    """Return spans in the text of a field, grown to the ends of the tokens that they cut through.

    The model reads a part of the text at a time. The last span of a part may be cut by its end, and is read again.
    """
    text, found = document.fields[index].text, list[Span]()
    ends = [end for _, end in spans]
    begin, size = 0, _FIRST_PART
    while (first := bisect_right(ends, begin)) < len(spans):
        last = min(first + size, len(spans))
        stop = len(text) if last == len(spans) else ends[last - 1]
        here = [(max(start, begin), end) for start, end in spans[first:last]]
        seen, is_whole = _read(model, document, index, (begin, stop), here)
        if not is_whole and len(seen) > 1:
            seen.pop()
        done = stop if is_whole or not seen else seen[-1][1]
        apart = [one for one in here if one[1] <= done and not _overlaps(one, seen)]
        found += sorted([*seen, *apart])
        begin, size = done, max(_SMALLEST_PART, 2 * (bisect_right(ends, done) - first))
    return found


def _read(model: Model, document: Document, index: int, part: Span, spans: Sequence[Span]) -> tuple[list[Span], bool]:
    """Return the spans in a part of the text that the model reads, grown to its tokens, and whether it reads all."""
    alone = only(document, index, part)
    try:
        tokens: Tokens = model.encode(alone)
    except EmptyTextError:
        return [], True
    shift = alone.starts[index] - part[0]
    moved = grown(tokens, [(start + shift, end + shift) for start, end in spans])
    back = [(start - shift, end - shift) for start, end in moved]
    is_whole = tokens.truncation is None and part[1] == len(document.fields[index].text)
    return [one for one in back if part[0] <= one[0] and one[1] <= part[1]], is_whole


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Return whether a span overlaps one of others, which are sorted and do not overlap each other."""
    at = bisect_left(others, span[1], key=lambda one: one[0])
    return at > 0 and others[at - 1][1] > span[0]
