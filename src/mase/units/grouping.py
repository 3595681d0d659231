"""The units that the tokens of a document form."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from mase.arrays import Ints
from mase.document import Document
from mase.text import Span, Tokens, Words, visible
from mase.units.splitters import Splitter, spans_of

_OUTSIDE, _INVISIBLE = -1, -2  # marks of tokens that have no unit


def group(tokens: Tokens, splitter: Splitter, within: Sequence[Span] | None = None) -> Words:
    """Return the units that the tokens of a document form; with `within`, only those into which these spans are split.

    A token belongs to every unit that it overlaps, and units that share a token are merged. A token that overlaps no
    unit is its own unit if the splitter is complete, and is fixed otherwise. A token that is empty, or only white
    space, belongs to the unit of the next token. Units without a token are left out.
    """
    spans = list(_spans(tokens.document, splitter, within))
    return _grouped(tokens, spans, complete=splitter.complete and within is None)


def grown(tokens: Tokens, spans: Sequence[Span]) -> list[Span]:
    """Return spans in the text of a document, grown to the ends of the tokens that they cut through, and merged.

    Tokens that overlap none of them have spans of their own. Spans without a token are left out.
    """
    return list(_grouped(tokens, spans, complete=True).spans)


def _spans(document: Document, splitter: Splitter, within: Sequence[Span] | None) -> Iterator[Span]:
    """Yield the spans of the units in the text of a document; a number or a category is one unit."""
    for field, first in zip(document.fields, document.starts, strict=True):
        if field.fixed:
            continue
        whole = (first, first + len(field.text))
        for begin, stop in [whole] if within is None else sorted(within):
            if whole[0] <= begin and stop <= whole[1]:
                text = document.text[begin:stop]
                spans = spans_of(splitter.split, text, splitter.name) if field.value is None else [(0, len(text))]
                yield from ((begin + start, begin + end) for start, end in spans)


def _grouped(tokens: Tokens, spans: Sequence[Span], *, complete: bool) -> Words:
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    pieces: list[Span | int] = []  # The span of the unit of each token, before units that share a token are merged.
    for span, fixed in zip(tokens.spans, tokens.fixed, strict=True):
        seen = None if fixed or span is None else visible(tokens.text, span)
        if seen is None:
            pieces.append(_OUTSIDE if fixed else _INVISIBLE)
            continue
        first, last = bisect_left(ends, seen[0] + 1), bisect_left(starts, seen[1]) - 1
        if first <= last:
            pieces.append((min(starts[first], seen[0]), max(ends[last], seen[1])))
        else:
            pieces.append(seen if complete else _OUTSIDE)
    merged = _merge(sorted({piece for piece in pieces if isinstance(piece, tuple)}))
    merged_starts = [start for start, _ in merged]
    of_token = [bisect_left(merged_starts, piece[0] + 1) - 1 if isinstance(piece, tuple) else piece for piece in pieces]
    return Words(tuple(merged), tuple(_join_invisible(of_token, tokens)))


def _merge(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    assert all(a[1] <= b[0] for a, b in pairwise(merged))
    return merged


def _join_invisible(of_token: Sequence[int], tokens: Tokens) -> list[int]:
    """Return the unit of each token, where invisible ones have that of the next token of the field that can be seen."""
    joined, following, field = list(of_token), _OUTSIDE, len(tokens.document.fields)
    starts = tokens.document.starts
    for index in reversed(range(len(joined))):
        span = tokens.spans[index]
        here = field if span is None else bisect_right(starts, span[0])
        if here != field:
            following, field = _OUTSIDE, here
        if joined[index] == _INVISIBLE:
            joined[index] = following
        elif not tokens.fixed[index]:
            following = joined[index]
    return joined


def coordinates(words: Words, *, per_token: bool) -> Ints:
    """Return the coordinate of each token `(t,)`, -1 for fixed tokens and tokens outside words.

    The tokens of a word share a coordinate, unless `per_token` gives each token its own.
    """
    of_word = np.array(words.of_token, dtype=np.int64)
    if not per_token:
        return of_word
    free = of_word >= 0
    return np.where(free, np.cumsum(free) - 1, -1)


def members(words: Words, of_token: Ints) -> list[Ints]:
    """Return the coordinates of each word in ascending order, given the coordinates of the tokens `(t,)`."""
    groups: list[set[int]] = [set() for _ in words.spans]
    for word, coordinate in zip(words.of_token, of_token.tolist(), strict=True):
        if coordinate >= 0:
            groups[word].add(coordinate)
    return [np.array(sorted(group), dtype=np.int64) for group in groups]
