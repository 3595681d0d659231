"""The matches of a regular expression."""

import re
from dataclasses import dataclass
from typing import Self

from mase.errors import OptionError
from mase.text import Span

__all__ = ["PREFIX", "Regex"]

PREFIX = "re:"
# The letters of `(?im)` for flags; a pattern of str has UNICODE unless it has ASCII.
_LETTERS = {re.ASCII: "a", re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.VERBOSE: "x"}


@dataclass(frozen=True, slots=True)
class Regex:
    """The matches of a regular expression that are not empty. All else stays fixed.

    Raises
    ------
    OptionError
        If the pattern is one of bytes.

    Examples
    --------
    >>> Regex(re.compile("b+", re.I)).split("aBb b"), Regex(re.compile("b+", re.I)).name
    ([(1, 3), (4, 5)], 're:(?i)b+')
    """

    pattern: re.Pattern[str]
    complete = False

    def __post_init__(self) -> None:
        if not isinstance(self.pattern.pattern, str):
            raise OptionError(f"units is {self.pattern!r:.80}, a pattern of bytes, expected one of str")

    @classmethod
    def parse(cls, text: str) -> Self:
        r"""Return the splitter that a string such as ``"re:\\w+"`` describes.

        Raises
        ------
        OptionError
            If it is not a regular expression.
        """
        try:
            return cls(re.compile(text.removeprefix(PREFIX)))
        except (re.error, RecursionError, OverflowError) as error:
            raise OptionError(f"units is {text!r:.80}, expected a regular expression after 're:': {error}") from error

    @property
    def name(self) -> str:
        """The expression after "re:", with all flags in it."""
        expression = self.pattern.pattern
        flags = "".join(letter for flag, letter in _LETTERS.items() if self.pattern.flags & flag)
        if not flags or re.compile(expression).flags == self.pattern.flags:
            return PREFIX + expression
        return f"{PREFIX}(?{flags}){expression}"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the matches."""
        return [match.span() for match in self.pattern.finditer(text) if match[0]]
