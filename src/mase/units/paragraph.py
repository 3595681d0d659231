"""Paragraphs."""

import re
from dataclasses import dataclass

from mase.text import Span, visible

__all__ = ["Paragraph"]

_LINE_END = r"(?>\r\n|[\n\r\x85\u2028])"
_BLANK_LINES = re.compile(rf"{_LINE_END}(?:[^\S\n\r\x85\u2028\u2029]*{_LINE_END})+|\u2029")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraphs: lines up to a blank line, or to U+2029, without the white space around them.

    Examples
    --------
    >>> Paragraph().split("one\\ntwo\\n \\nthree")
    [(0, 7), (10, 15)]
    """

    name = "paragraph"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the paragraphs."""
        ends = [(match.start(), match.end()) for match in _BLANK_LINES.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        spans = (visible(text, span) for span in zip(starts, stops, strict=True))
        return [span for span in spans if span is not None]
