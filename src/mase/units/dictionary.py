"""Words of dictionaries, for scripts without spaces, found by ICU."""

from collections.abc import Iterator
from dataclasses import dataclass

from mase.lazy import require
from mase.text import Span
from mase.units.word import is_picture, with_punctuation

__all__ = ["Dictionary"]


@dataclass(frozen=True, slots=True)
class Dictionary:
    """Words as in "word", but those of Chinese, Japanese, Thai, Lao, Khmer and Burmese come from ICU's dictionaries.

    Raises
    ------
    MissingDependencyError
        If icu4py is not installed.
    """

    name = "dictionary"
    complete = True

    def __post_init__(self) -> None:
        require("icu4py", "icu")

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words with their punctuation."""
        return with_punctuation(text, _words)


def _words(run: str) -> Iterator[Span]:
    """Yield the spans of the words and pictures in a run of visible characters, without punctuation."""
    from icu4py.breakers import WordBreaker

    start = 0
    for piece in WordBreaker(run, "en"):  # the pieces and not their offsets, which count in UTF-16
        if any(character.isalnum() or is_picture(character) for character in piece):
            yield start, start + len(piece)
        start += len(piece)
