"""Lines."""

import re
from dataclasses import dataclass

from mase.text import Span, visible

__all__ = ["Line"]

# The line boundaries of `str.splitlines`.
_LINES = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Line:
    """Lines that are not empty, without the white space around them.

    Examples
    --------
    >>> Line().split("one\\n\\n two ")
    [(0, 3), (6, 9)]
    """

    name = "line"
    complete = True

    def split(self, text: str) -> list[Span]:
        """Return the spans of the lines."""
        return [span for match in _LINES.finditer(text) if (span := visible(text, match.span())) is not None]
