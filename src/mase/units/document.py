"""Whole documents."""

from dataclasses import dataclass

from mase.text import Span, visible

__all__ = ["WholeDocument"]


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """Each text as one unit: a document of a context, a field of a record.

    Examples
    --------
    >>> WholeDocument().split("One. Two.\\n")
    [(0, 9)]
    """

    name = "document"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the span of the text without the white space around it."""
        span = visible(text, (0, len(text)))
        return [] if span is None else [span]
