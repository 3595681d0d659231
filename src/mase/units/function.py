"""The units that a function of the user's finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import index
from typing import Any, ClassVar

from mase.errors import MaseError, UnitsError
from mase.text import Span

__all__ = ["Function"]


@dataclass(frozen=True, slots=True)
class Function:
    """The spans that a function `text -> [(start, end), ...]` returns, in any order. All else stays fixed.

    Examples
    --------
    >>> Function(lambda text: [(4, 9), (0, 3)]).split("not great")
    [(0, 3), (4, 9)]
    """

    function: Callable[[str], Iterable[Span]]
    complete: ClassVar[bool] = False

    @property
    def lasting(self) -> bool:
        """Whether the name means the same function in another process: it is one of a module, and no lambda."""
        return "<" not in getattr(self.function, "__qualname__", "<")

    @property
    def name(self) -> str:
        """The module and the qualified name of the function."""
        named = self.function if hasattr(self.function, "__qualname__") else type(self.function)
        return f"{named.__module__}.{named.__qualname__}"

    def split(self, text: str) -> list[Span]:
        """Return the spans of the units.

        Raises
        ------
        UnitsError
            If the function raises, or returns anything but disjoint spans in the text.
        """
        try:
            found = sorted(_span(one, self.name) for one in self.function(text))
        except MaseError:
            raise
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise UnitsError(f"{self.name} raised {reason:.300}, expected spans [(start, end), ...]") from error
        for start, end in found:
            if not 0 <= start < end <= len(text):
                raise UnitsError(
                    f"{self.name} returned the span {(start, end)} for a text of {len(text)} characters, "
                    "expected 0 <= start < end <= length"
                )
        for first, second in pairwise(found):
            if second[0] < first[1]:
                raise UnitsError(
                    f"{self.name} returned the spans {first} and {second}, which overlap, expected disjoint spans"
                )
        return found


def _span(given: Any, name: str) -> Span:
    try:
        start, end = given
        if isinstance(start, bool) or isinstance(end, bool):
            raise TypeError
        return index(start), index(end)
    except (TypeError, ValueError):
        raise UnitsError(f"{name} returned {given!r:.80}, expected a span (start, end) of two integers") from None
