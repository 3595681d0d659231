"""Tokens, words and spans of a text, and where a text can be cut."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from mase.document import Document
from mase.errors import ShapeError

Span = tuple[int, int]
Side = Literal["start", "end"]

# Markup such as <br />, which tokenizers of web texts leave out.
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")

# Scripts without spaces between words. Of ideographs and kana every character counts as a word.
_IDEOGRAPHS = (
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff"
)

_VOICED = "\uff9e\uff9f"  # the marks of half-width kana, which Unicode counts among the letters

# Of the scripts of line break class SA in Unicode (Thai, Lao, Burmese, Khmer, Tai and Ahom) it is a cluster: a letter
# with its marks, with a vowel that is written before or after it, and with letters that are stacked or silenced.
_SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d"
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7f\u1aa7\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa60-\uaa76\uaa7a-\uaadd\U00011700-\U0001172b\U00011740-\U00011746"
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
    """The t tokens of a document, each with its id and its span in `text`.

    `fixed` marks special and padding tokens and the tokens of fixed fields, which have no coordinate and score exactly
    0. `types` are the token types that a model reads beside the ids, such as the segments of a pair. A black box that
    takes strings has no token ids: its tokens are the words and `ids` numbers them. `special` are the spans of `text`
    that the tokenizer takes for special tokens. `unknown_id` is the id of everything that the tokenizer does not know,
    if it has one.
    """

    document: Document
    ids: tuple[int, ...]
    pieces: tuple[str, ...]
    spans: tuple[Span | None, ...]
    fixed: tuple[bool, ...]
    truncation: Truncation | None = None
    types: tuple[int, ...] | None = None
    special: tuple[Span, ...] = ()
    unknown_id: int | None = None

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

    def scored(self) -> list[tuple[int, Span]]:
        """Return the ids and spans of the tokens that can have a score."""
        every = zip(self.ids, self.spans, self.fixed, strict=True)
        return [(token, span) for token, span, fixed in every if span is not None and not fixed]

    def unknown(self) -> list[Span]:
        """Return the spans of those of them that say only that the tokenizer does not know the characters."""
        return [span for token, span in self.scored() if token == self.unknown_id]

    def unread(self) -> list[Span]:
        """Return the words of letters or digits in `text` without a token, but for those in markup or cut off."""
        result, text, spans = [], self.text, [span for span in self.spans if span is not None]
        read = bytearray(len(text))
        for first, last in (*spans, *self.special):
            read[first:last] = b"\1" * (last - first)
        for start, field in zip(self.document.starts, self.document.fields, strict=True):
            end = start + len(field.text)
            if self.truncation is not None:
                own = [span for span in spans if start <= span[0] < span[1] <= end]
                start, end = min((first for first, _ in own), default=end), max((last for _, last in own), default=end)
            for tag in _TAG.finditer(text, start, end):
                read[tag.start() : tag.end()] = b"\1" * len(tag[0])
            words = ((start + first, start + last) for first, last in find_words(text[start:end]))
            result += [word for word in words if text[word[0]].isalnum() and not any(read[slice(*word)])]
        return result


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
    letter = rf"[^\W_{_IDEOGRAPHS}{_SOUTH_EAST_ASIAN}][{marks}\xad\u180e\u200c-\u200f\u2060\ufeff]*"
    # As in UAX 29 (WB6, WB7b and WB11), also the dot of Catalan, marks and quotation marks of Hebrew, and separators
    # in Arabic and full-width numbers. The dot beside a digit multiplies.
    hebrew = r"[\u05f3\u05f4]|(?<=[\u05d0-\u05ea])\"(?=[\u05d0-\u05ea])"
    inside = rf"['’]|(?<!\d)\xb7(?!\d)|{hebrew}|(?<=\d)[.,\u066b\u066c\uff0e](?=\d)"
    cluster = rf"[{_LEADING_VOWELS}]?[{_SOUTH_EAST_ASIAN}](?:{_STACKED}|[{marks}]|[{_FOLLOWING_VOWELS}]|{_SILENCED})*"
    kana = rf"[{_IDEOGRAPHS}][{marks}{_VOICED}]*"
    return re.compile(rf"{kana}|{cluster}|(?:{letter})+(?:(?:{inside})(?:{letter})+)*|_+|[^\w\s]+")


def find_words(text: str) -> list[Span]:
    """Return the spans of the words of `text`.

    A word is a run of letters and digits, which may contain apostrophes, the dot of Catalan ("col·lega"), the marks of
    Hebrew acronyms and, in numbers, points and commas; a single ideograph or kana; a cluster of a letter and what
    belongs to it in Thai, Lao, Burmese, Khmer and scripts like them; or a run of punctuation or symbols.

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


_JOINER = "\u200d"

# Besides marks, what belongs to the character before it: joiners, two vowels of Thai and Lao, vowels and ends of Korean
# syllables, tones of skin, and the tags of flags.
_FOLLOWING = re.compile(f"[{_JOINER}\u0e33\u0eb3\u1160-\u11ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # of which two are a flag
_MOST_BACK = 64  # no writing has a character of more code points


def boundary(text: str, at: int) -> int:
    """Return the last place up to `at` where a text can be cut: between two characters as people see them.

    They are the grapheme clusters of Unicode (UAX 29), but for conjunct consonants of Indic scripts and rare signs.

    Examples
    --------
    >>> boundary("flag: 🇫🇷", 7), boundary("cafe\\u0301", 4), boundary("cafe\\u0301", 9)
    (6, 3, 5)
    """
    at = min(max(at, 0), len(text))
    return next((place for place in range(at, max(at - _MOST_BACK, -1), -1) if not _is_inside(text, place)), at)


def shortened(text: str, longest: int) -> str:
    """Return a text of at most `longest` characters; a longer one ends with an ellipsis; see `boundary`.

    Examples
    --------
    >>> shortened("a good film", 7), shortened("a good film", 11)
    ('a good…', 'a good film')
    """
    return text if len(text) <= longest else text[: boundary(text, longest - 1)] + "…"


def _is_inside(text: str, place: int) -> bool:
    """Return whether a place is inside a grapheme cluster."""
    if place in (0, len(text)):
        return False
    before, after = text[place - 1], text[place]
    if before == _JOINER or before + after == "\r\n" or unicodedata.category(after)[0] == "M":
        return True
    if before in _FLAG_LETTERS and after in _FLAG_LETTERS:
        return (place - len(text[:place].rstrip(_FLAG_LETTERS))) % 2 == 1
    return _FOLLOWING.match(after) is not None
