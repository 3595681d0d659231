"""Words and punctuation apart from each other."""

from dataclasses import dataclass

from mase.text import Span, find_words

__all__ = ["WordPunct"]


@dataclass(frozen=True, slots=True)
class WordPunct:
    """Words, and runs of punctuation as units of their own, as in NLTK's `WordPunctTokenizer`."""

    name = "wordpunct"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words and of the runs of punctuation; see `mase.text.find_words`."""
        return find_words(text)
