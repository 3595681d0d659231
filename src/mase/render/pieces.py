"""The running text in pieces: scored words, what stands between them, and what the model did not read."""

import re
from dataclasses import dataclass

from mase.attribution import Attribution, Word

__all__ = ["Piece", "inline", "pieces", "visible"]

# Control characters but tab and line end; marks that turn the reading direction; characters of no width, which a
# classifier reads and a reader does not see (joiners apart, which scripts and emoji need); surrogates, which no file
# can hold.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u2064\u2066-\u2069"
    "\ud800-\udfff\ufeff]"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text: of a scored `word`, or of none; `unread` if the model never saw it."""

    text: str
    word: Word | None = None
    unread: bool = False


def visible(text: str) -> str:
    """Return `text` with every character that could command a terminal or turn the reading direction made visible.

    Examples
    --------
    >>> visible("a\\x1b[31mred\\u202e")
    'a␛[31mred⟨202E⟩'
    """
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def inline(text: str) -> str:
    """Return `text` visible and on one line, for labels, names and single words."""
    return visible(text).replace("\n", "␊").replace("\t", "␉")


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨{code:04X}⟩"


def pieces(attribution: Attribution, *, longest_unread: int) -> list[Piece]:
    """Return the text in reading order; of unread stretches beyond `longest_unread` characters the part next to the read text.

    Words of no width are left out, and a word that begins within another begins where that one ends.
    """
    text, at, found = attribution.text, 0, []
    start, end = _read(attribution)
    found.append(_unread(text[:start], longest_unread, from_end=True))
    at = start
    for word in sorted(attribution.word_scores, key=lambda word: word.start):
        first, last = max(word.start, at), min(word.end, end)
        if first >= last:
            continue
        found += [Piece(visible(text[at:first])), Piece(visible(text[first:last]), word)]
        at = last
    found += [Piece(visible(text[at:end])), _unread(text[end:], longest_unread, from_end=False)]
    return [piece for piece in found if piece.text]


def _read(attribution: Attribution) -> tuple[int, int]:
    """Return the stretch of the text that the model read: all of it unless it was cut off."""
    whole = (0, len(attribution.text))
    read = [
        (token.start, token.end) for token in attribution.tokens if token.start is not None and token.end is not None
    ]
    read += [(word.start, word.end) for word in attribution.word_scores]
    if attribution.truncation is None or not read:
        return whole
    if attribution.truncation.kept == "end":
        return max(0, min(start for start, _ in read)), whole[1]
    return 0, min(whole[1], max(end for _, end in read))


def _unread(text: str, longest: int, *, from_end: bool) -> Piece:
    if len(text) <= longest:
        return Piece(visible(text), unread=True)
    hidden = f"[{len(text) - longest:,} characters]"
    shown = (
        f"{hidden} … {visible(text[len(text) - longest :])}" if from_end else f"{visible(text[:longest])} … {hidden}"
    )
    return Piece(shown, unread=True)
