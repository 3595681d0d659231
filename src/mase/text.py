"""Texts as tokens and words, with spans into the original string."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal

from mase.errors import InvalidTextError, ShapeError

__all__ = [
    "Side",
    "Span",
    "Tokens",
    "Truncation",
    "Words",
    "check_text",
    "check_texts",
    "find_words",
    "group_words",
    "joins",
]

Span = tuple[int, int]
Side = Literal["start", "end"]

# Scripts written without spaces: one character is the nearest thing to a word.
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"


@dataclass(frozen=True, slots=True)
class Truncation:
    """What a model did not read: `n_total - n_kept` tokens; `kept` is the end of the text that it read."""

    n_kept: int
    n_total: int
    kept: Side


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text as its model reads it: t tokens, each with its id and its span in `text`.

    `fixed` marks special and padding tokens: they are no coordinates and their score is exactly 0.
    A black box that reads strings has no ids: its tokens are words and `ids` counts them.
    """

    text: str
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    spans: tuple[Span | None, ...]
    fixed: tuple[bool, ...]
    truncation: Truncation | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.ids), len(self.pieces), len(self.spans), len(self.fixed)}
        if len(lengths) != 1:
            raise ShapeError(f"ids, pieces, spans and fixed have lengths {sorted(lengths)}, expected one length")

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text that its model reads: spans, and for each token its word (-1 for fixed tokens)."""

    spans: tuple[Span, ...]
    of_token: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.spans)


def check_text(text: object) -> str:
    """Return `text` if it is a string of valid Unicode, as a plain `str` if it is of a subclass such as `numpy.str_`.

    Raises
    ------
    InvalidTextError
        If it is not a string, or holds a lone surrogate (which no tokenizer or file can carry).
    """
    if not isinstance(text, str):
        raise InvalidTextError(f"text is of type {type(text).__name__}, expected str{_remedy(text)}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"text has the lone surrogate U+{ord(text[error.start]):04X} at position {error.start}, expected valid Unicode; "
            "replace it, for example with text.encode('utf-8', 'replace').decode()"
        ) from None
    return str.__str__(text)


def check_texts(texts: object, *, tuples: bool = False) -> Iterable[Any]:
    """Return `texts` if it can be several texts: a list, a generator or a Series; `check_text` looks at each of them.

    What could be meant otherwise is refused: a tuple or a mapping may be one input of several fields, iterating over a
    table gives the names of its columns, and a set has no order. With `tuples` a tuple counts as several texts, for
    callers that take no single input.

    Raises
    ------
    InvalidTextError
        If it is a single text or anything else.
    """
    if isinstance(texts, str):
        raise InvalidTextError("texts is one str, expected several; put it into a list, as in [text]")
    shape = getattr(texts, "shape", None)
    one_column = not isinstance(shape, tuple) or len(shape) == 1
    if (
        not one_column
        or not isinstance(texts, Iterable)
        or isinstance(texts, bytes | bytearray | memoryview | Mapping | Set)
        or (isinstance(texts, tuple) and not tuples)
    ):
        raise InvalidTextError(
            f"texts is of type {type(texts).__name__}, expected a str, or a list, a generator or a Series of str"
            f"{_remedy(texts)}"
        )
    return texts


def _remedy(given: object) -> str:
    """Return how to go on from an input that is no text."""
    if isinstance(given, bytes | bytearray | memoryview):
        return "; decode it first, as in text.decode()"
    if isinstance(given, tuple | list | Mapping):
        return "; pairs of sentences and fields are not supported yet: join them to one str, or give several texts as a list"
    if isinstance(given, Set):
        return "; a set has no order, give sorted(texts)"
    shape = getattr(given, "shape", None)
    return "; name one column of a table, as in table['text']" if isinstance(shape, tuple) and len(shape) == 2 else ""


@cache
def _word_pattern() -> re.Pattern[str]:
    codes = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = "".join(re.escape(chr(c)) for c in codes if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me"))
    # Soft hyphens, joiners and marks of direction go on with a word, as in Unicode's word rules (UAX 29, WB4).
    letter = rf"[^\W_{_IDEOGRAPHS}][{marks}\xad\u200c-\u200f\u2060]*"
    inside = r"['’]|(?<=\d)[.,](?=\d)"
    return re.compile(rf"[{_IDEOGRAPHS}][{marks}]*|(?:{letter})+(?:(?:{inside})(?:{letter})+)*|_+|[^\w\s]+")


def find_words(text: str) -> list[Span]:
    """Return the spans of the words of `text`: runs of letters and digits (with apostrophes inside, and the points and
    commas of numbers), ideographs one by one, and runs of punctuation or symbols.

    Examples
    --------
    >>> [ "don't stop!"[s:e] for s, e in find_words("don't stop!") ]
    ["don't", 'stop', '!']
    """
    return [match.span() for match in _word_pattern().finditer(text)]


def joins(left: str, right: str) -> bool:
    """Return whether letters or digits at the end of `left` and the beginning of `right` would read as one word.

    Ideographs and kana, which are words one by one, never do.

    Examples
    --------
    >>> joins("open", "source"), joins("open", "-"), joins("我", "们")
    (True, False, False)
    """
    return _edges(left)[1] and _edges(right)[0]


@lru_cache(maxsize=1 << 14)
def _edges(piece: str) -> tuple[bool, bool]:
    """Return whether the first and the last word of a piece are of letters or digits and reach its edge."""
    spans = find_words(piece)
    if not spans:
        return False, False
    (start, _), (last, end) = spans[0], spans[-1]
    return start == 0 and _is_letter(piece[0]), end == len(piece) and _is_letter(piece[last])


def _is_letter(character: str) -> bool:
    return character.isalnum() and re.match(rf"[{_IDEOGRAPHS}]", character) is None


def group_words(tokens: Tokens) -> Words:
    """Return the words that the tokens of a text make up.

    A token belongs to every word it overlaps, and words that share a token are one word; a token that overlaps none
    is a word of its own; a token of no width, white space apart, joins the one after it.
    """
    found = find_words(tokens.text)
    starts, ends = [s for s, _ in found], [e for _, e in found]
    pieces: list[Span | None] = []  # the extent of each token's word, before sharing is resolved
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
    """Return the span without white space around it (byte-level tokenizers count it in), None if nothing is left."""
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
