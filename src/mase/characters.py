"""Where a text can be cut without parting what is seen as one character, such as an emoji or a letter with marks."""

import re
import unicodedata

__all__ = ["boundary", "shortened"]

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
