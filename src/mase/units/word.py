"""Words with the punctuation that touches them."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from mase.text import Span, find_words

__all__ = ["Word", "is_picture", "with_punctuation"]

# The symbols from the arrows on are pictures, such as emoji, and mean something by themselves; © and ° come before.
_FIRST_PICTURE = "\u2190"


@dataclass(frozen=True, slots=True)
class Word:
    """Words with the punctuation that touches them, so that both are in or out as one.

    Punctuation after a word, or between two words, belongs to the word before it. Opening brackets and quotes belong to
    the word after them, and so does punctuation at the beginning of a word. Punctuation between spaces is a unit of its
    own. Emoji count as words.

    Examples
    --------
    >>> text = "(Not good!) - well-known"
    >>> [text[start:end] for start, end in Word().split(text)]
    ['(Not', 'good!)', '-', 'well-', 'known']
    """

    name = "word"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words with their punctuation."""
        return with_punctuation(text, _words)


def with_punctuation(text: str, words: Callable[[str], Iterator[Span]]) -> list[Span]:
    """Return the spans of the words that a function finds in runs of visible characters, with the characters between.

    A run without a word is a span of its own.
    """
    return [span for run in re.finditer(r"\S+", text) for span in _joined(run[0], words(run[0]), run.start())]


def is_picture(character: str) -> bool:
    """Return whether a character is a symbol that means something by itself, such as an emoji."""
    return character >= _FIRST_PICTURE and unicodedata.category(character) == "So"


def _joined(run: str, words: Iterator[Span], offset: int) -> Iterator[Span]:
    starts = [0, *(_opening(run, end, start) for (_, end), (start, _) in pairwise(words)), len(run)]
    return ((offset + start, offset + end) for start, end in pairwise(starts))


def _opening(run: str, start: int, end: int) -> int:
    """Return where the opening punctuation between two words begins, which belongs to the second one."""
    between = enumerate(run[start:end], start)
    return next((at for at, one in between if one in "¿¡" or unicodedata.category(one) in ("Ps", "Pi")), end)


def _words(run: str) -> Iterator[Span]:
    """Yield the spans of the words and pictures in a run of visible characters, without punctuation."""
    for start, end in find_words(run):
        if run[start].isalnum():
            yield start, end
        elif pictures := [at for at in range(start, end) if is_picture(run[at])]:
            yield pictures[0], pictures[-1] + 1
