"""Where the texts of a run come from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mase.document import Document
from mase.errors import MaseError

__all__ = ["Item", "Source"]


@dataclass(frozen=True, slots=True)
class Item:
    """One text of a corpus.

    Attributes
    ----------
    row
        Its number in the whole input, from 0.
    id
        Its name, unique in the input.
    text
        The text, or a document that is no plain text; None if it is missing or could not be read.
    kept
        Values of the columns that are kept, in the order of `Source.kept`.
    error
        Why the text cannot be explained, if that is known from the input alone.
    """

    row: int
    id: str
    text: str | Document | None
    kept: tuple[str | None, ...] = ()
    error: MaseError | None = None


class Source(Protocol):
    """A repeatable sequence of texts. It may be read several times, and gives the same items each time."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the columns that are kept beside the texts."""
        ...

    def __len__(self) -> int:
        """Return the number of texts."""
        ...

    def items(self, start: int = 0) -> Iterator[Item]:
        """Yield the items in order, from row `start` on.

        Raises
        ------
        DataError
            If the input cannot be read.
        """
        ...

    def describe(self) -> Mapping[str, Any]:
        """Return plain JSON types that identify the input: names, checksums and columns.

        Two sources with the same description have the same items.
        """
        ...
