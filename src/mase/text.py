"""Tokens and words of a text, with spans into the original string."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache, lru_cache
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
    "joins",
    "visible",
]

Span = tuple[int, int]
Side = Literal["start", "end"]

# Scripts without spaces between words. Of ideographs and kana every character counts as a word.
_IDEOGRAPHS = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Of the scripts of line break class SA in Unicode (Thai, Lao, Burmese, Khmer, Tai and Ahom) it is a cluster: a letter
# with its marks, with a vowel that is written before or after it, and with letters that are stacked or silenced.
_SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\u1aa7\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa60-\uaa76\uaa7a-\uaadd\U00011700-\U0001172b"
)
_LEADING_VOWELS, _FOLLOWING_VOWELS = "\u0e40-\u0e44\u0ec0-\u0ec4", "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd"
_STACKED = rf"[\u1039\u17d2][{_SOUTH_EAST_ASIAN}]"
_SILENCED = r"[\u1000-\u1021]\u1037?\u103a"


@dataclass(frozen=True, slots=True)
class Truncation:
    """The truncation of a text: the model read `n_kept` of `n_total` tokens, at the start or the end (`kept`)."""

    n_kept: int
    n_total: int
    kept: Side


@dataclass(frozen=True, slots=True)
class Tokens:
    """The t tokens of a text, each with its id and its span in `text`.

    `fixed` marks special and padding tokens, which have no coordinate and score exactly 0. A black box that takes
    strings has no token ids: its tokens are the words and `ids` numbers them.
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
    """The words of a text that the model reads: their spans, and the word of each token (-1 for fixed tokens)."""

    spans: tuple[Span, ...]
    of_token: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.spans)


def check_text(text: object) -> str:
    """Return `text` if it is valid Unicode; a subclass such as `numpy.str_` is converted to `str`.

    Raises
    ------
    InvalidTextError
        If it is not a string, or contains a lone surrogate, which tokenizers and files do not support.
    """
    if not isinstance(text, str):
        raise InvalidTextError(f"text is of type {type(text).__name__}, expected str{_remedy(text)}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidTextError(
            f"text has the lone surrogate U+{ord(text[error.start]):04X} at position {error.start}, expected valid "
            "Unicode; replace it, for example with text.encode('utf-8', 'replace').decode()"
        ) from None
    return str.__str__(text)


def check_texts(texts: object, *, tuples: bool = False) -> Iterable[Any]:
    """Return `texts` if it is a list, a generator or a Series; the single texts are not checked (see `check_text`).

    Ambiguous inputs are refused: a tuple or a mapping may be one input with several fields, iterating over a table
    yields the names of its columns, and a set has no order. With `tuples` a tuple counts as several texts, for callers
    that never take a single input.

    Raises
    ------
    InvalidTextError
        If it is a single text or another type.
    """
    if isinstance(texts, str):
        raise InvalidTextError("texts is a single str, expected several texts; use a list, as in [text]")
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


def _remedy(value: object) -> str:
    """Return the remedy for an input that is not a text, for the end of a message."""
    if isinstance(value, bytes | bytearray | memoryview):
        return "; decode it first, as in text.decode()"
    if isinstance(value, tuple | list | Mapping):
        return (
            "; pairs of sentences and fields are not supported: join them to one str, or pass several texts as a list"
        )
    if isinstance(value, Set):
        return "; a set has no order, pass sorted(texts)"
    shape = getattr(value, "shape", None)
    is_table = isinstance(shape, tuple) and len(shape) == 2
    return "; pass one column of the table, as in table['text']" if is_table else ""


@cache
def _word_pattern() -> re.Pattern[str]:
    codes = (*range(0x300, 0x1F000), *range(0xE0100, 0xE01F0))
    marks = "".join(re.escape(chr(c)) for c in codes if unicodedata.category(chr(c)) in ("Mn", "Mc", "Me"))
    # Soft hyphens, joiners and direction marks do not end a word, as in the word rules of Unicode (UAX 29, WB4).
    letter = rf"[^\W_{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}][{marks}\xad\u200c-\u200f\u2060]*"
    inside = r"['’]|(?<=\d)[.,](?=\d)"
    cluster = (
        rf"[{_LEADING_VOWELS}]?[{_SOUTH_EAST_ASIAN}](?:{_STACKED}|[{marks}]|[{_FOLLOWING_VOWELS}]|{_SILENCED})*"
    )
    return re.compile(
        rf"[{_IDEOGRAPHS}][{marks}]*|{cluster}|(?:{letter})+(?:(?:{inside})(?:{letter})+)*|_+|[^\w\s]+"
    )


def find_words(text: str) -> list[Span]:
    """Return the spans of the words of `text`.

    A word is a run of letters and digits, which may contain apostrophes and, in numbers, points and commas; a single
    ideograph or kana; a cluster of a letter and what belongs to it in Thai, Lao, Burmese, Khmer and scripts like them;
    or a run of punctuation or symbols.

    Examples
    --------
    >>> [ "don't stop!"[s:e] for s, e in find_words("don't stop!") ]
    ["don't", 'stop', '!']
    """
    return [match.span() for match in _word_pattern().finditer(text)]


def joins(left: str, right: str) -> bool:
    """Return whether the end of `left` and the start of `right` would form one word if they were concatenated.

    They do if both are letters or digits. Those of scripts without spaces between words never do.

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
    return character.isalnum() and re.match(rf"[{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}]", character) is None


def visible(text: str, span: Span) -> Span | None:
    """Return the span without surrounding white space, which byte-level tokenizers include; None if nothing is left."""
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip())
    end = span[1] - len(piece) + len(piece.rstrip())
    return (start, end) if start < end else None
