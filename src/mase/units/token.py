"""Single tokens of the model."""

from dataclasses import dataclass

from mase.text import Span, find_words

__all__ = ["Token"]


@dataclass(frozen=True, slots=True)
class Token:
    """Every token is a coordinate. The units that are listed are words, with the sums of the scores of their tokens."""

    name = "token"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the words and of the runs of punctuation; see `mase.text.find_words`."""
        return find_words(text)
