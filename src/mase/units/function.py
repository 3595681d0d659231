"""The units that a function of the user's finds."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mase.text import Span
from mase.units.spans import spans_of

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
    complete = False

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
        return spans_of(self.function, text, self.name)
