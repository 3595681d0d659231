"""Tokens and words of a text, with spans into the original string."""

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from mase.document import Document
from mase.errors import ShapeError

__all__ = [
    "Side",
    "Span",
    "Tokens",
    "Truncation",
    "Words",
    "find_words",
    "group_words",
    "joins",
]

Span = tuple[int, int]
Side = Literal["start", "end"]

# Scripts without spaces between words, in which every character counts as a word.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


@dataclass(frozen=True, slots=True)
class Truncation:
    """The truncation of a text: the model read `n_kept` of `n_total` tokens, at the start or the end (`kept`)."""

    n_kept: int
    n_total: int
    kept: Side


@dataclass(frozen=True, slots=True)
class Tokens:
    """The t tokens of a document, each with its id and its span in `text`.

    `fixed` marks special and padding tokens and the tokens of fixed fields, which have no coordinate and score exactly
    0. `types` are the token types that a model reads beside the ids, such as the segments of a pair. A black box that
    takes strings has no token ids: its tokens are the words and `ids` numbers them.
    """

    document: Document
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    spans: tuple[Span | None, ...]
    fixed: tuple[bool, ...]
    truncation: Truncation | None = None
    types: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.pieces), len(self.spans), len(self.fixed)}
        if len(lengths) != 1:
            raise ShapeError(f"ids, pieces, spans and fixed have lengths {sorted(lengths)}, expected one length")
        if any(field.fixed for field in self.document.fields):
            held = (span is not None and self.document.located(*span)[0].fixed for span in self.spans)
            object.__setattr__(self, "fixed", tuple(map(any, zip(self.fixed, held, strict=True))))

    @property
    def text(self) -> str:
        """The texts of the fields of the document, one per line."""
        return self.document.text

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text that the model reads: their spans, and the word of each token (-1 for fixed tokens)."""

    spans: tuple[Span, ...]
    of_token: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.spans)


@cache
def _word_pattern() -> re.Pattern[str]:
    codes = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = "".join(re.escape(chr(c)) for c in codes if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me"))
    # Soft hyphens, joiners and direction marks do not end a word, as in the word rules of Unicode (UAX 29, WB4).
    letter = rf"[^\W_{_IDEOGRAPHS}][{marks}\xad\u200c-\u200f\u2060]*"
    inside = r"['’]|(?<=\d)[.,](?=\d)"
    return re.compile(rf"[{_IDEOGRAPHS}][{marks}]*|(?:{letter})+(?:(?:{inside})(?:{letter})+)*|_+|[^\w\s]+")


def find_words(text: str) -> list[Span]:
    """Return the spans of the words of `text`.

    A word is a run of letters and digits, which may contain apostrophes and, in numbers, points and commas; a single
    ideograph; or a run of punctuation or symbols.

    Examples
    --------
    >>> [ "don't stop!"[s:e] for s, e in find_words("don't stop!") ]
    ["don't", 'stop', '!']
    """
    return [match.span() for match in _word_pattern().finditer(text)]


def joins(left: str, right: str) -> bool:
    """Return whether the end of `left` and the start of `right` would form one word if they were concatenated.

    They do if both are letters or digits. Ideographs and kana, which are single words, never do.

    Examples
    --------
    >>> joins("open", "source"), joins("open", "-"), joins("我", "们")
    (True, False, False)
    """
    return _edges(left)[1] and _edges(right)[0]


@lru_cache(maxsize=1 << 14)
def _edges(piece: str) -> tuple[bool, bool]:
    """Return whether a piece starts and whether it ends with a word of letters or digits."""
    spans = find_words(piece)
    if not spans:
        return False, False
    (start, _), (last, end) = spans[0], spans[-1]
    return start == 0 and _is_letter(piece[0]), end == len(piece) and _is_letter(piece[last])


def _is_letter(character: str) -> bool:
    return character.isalnum() and re.match(rf"[{_IDEOGRAPHS}]", character) is None


def group_words(tokens: Tokens) -> Words:
    """Return the words that the tokens of a text form.

    A token belongs to every word that it overlaps, and words that share a token are merged. A token that overlaps no
    word is its own word. A token that is empty, or only white space, belongs to the word of the next token.
    """
    spans = find_words(tokens.text)
    starts, ends = [s for s, _ in spans], [e for _, e in spans]
    pieces: list[Span | None] = []  # The span of the word of each token, before words that share a token are merged.
    for span, fixed in zip(tokens.spans, tokens.fixed, strict=True):
        span = None if fixed or span is None else _visible(tokens.text, span)
        if span is None:
            pieces.append(None)
            continue
        first, last = _first_overlap(ends, span[0]), bisect_left(starts, span[1]) - 1
        pieces.append((min(starts[first], span[0]), max(ends[last], span[1])) if first <= last else span)
    merged = _merge(sorted({piece for piece in pieces if piece is not None}))
    merged_starts = [s for s, _ in merged]
    of_token = [-1 if piece is None else bisect_left(merged_starts, piece[0] + 1) - 1 for piece in pieces]
    return Words(tuple(merged), tuple(_join_widthless(tokens, of_token)))


def _visible(text: str, span: Span) -> Span | None:
    """Return the span without surrounding white space, which byte-level tokenizers include; None if nothing is left."""
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip())
    end = span[1] - len(piece) + len(piece.rstrip())
    return (start, end) if start < end else None


def _first_overlap(ends: list[int], start: int) -> int:
    return bisect_left(ends, start + 1)


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    assert all(a[1] <= b[0] for a, b in pairwise(merged))
    return merged


def _join_widthless(tokens: Tokens, of_token: list[int]) -> list[int]:
    joined, following = list(of_token), -1
    for index in reversed(range(len(joined))):
        if joined[index] >= 0:
            following = joined[index]
        elif not tokens.fixed[index]:
            joined[index] = following
    return joined
