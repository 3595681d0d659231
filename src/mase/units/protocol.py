"""What every splitter provides."""

from typing import Protocol, runtime_checkable

from mase.text import Span

__all__ = ["Splitter"]


@runtime_checkable
class Splitter(Protocol):
    """A way to split a text into units, the parts that are in or out as one."""

    @property
    def name(self) -> str:
        """What settings and messages call it; the same name always means the same units."""
        ...

    @property
    def complete(self) -> bool:
        """Whether tokens outside of all units are units of their own; otherwise they stay fixed."""
        ...

    def split(self, text: str) -> list[Span]:
        """Return the spans of the units of one field: in order, disjoint and not empty.

        Raises
        ------
        MaseError
            If the text cannot be split, for example because a package is missing.
        """
        ...
