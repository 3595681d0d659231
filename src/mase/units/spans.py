"""The check that a splitter returned spans in the text."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from operator import index
from typing import Any

from mase.errors import MaseError, UnitsError
from mase.text import Span

__all__ = ["spans_of"]


def spans_of(split: Callable[[str], Iterable[Span]], text: str, name: str) -> list[Span]:
    """Return the spans that `split` finds in a text, in order; `name` is what messages call it.

    Raises
    ------
    UnitsError
        If it raises, or returns anything but disjoint spans in the text.
    """
    try:
        found = sorted(_span(one, name) for one in split(text))
    except MaseError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnitsError(f"{name} raised {reason:.300}, expected spans [(start, end), ...]") from error
    for start, end in found:
        if not 0 <= start < end <= len(text):
            raise UnitsError(
                f"{name} returned the span {(start, end)} for a text of {len(text)} characters, "
                "expected 0 <= start < end <= length"
            )
    for first, second in pairwise(found):
        if second[0] < first[1]:
            raise UnitsError(f"{name} returned the spans {first} and {second}, which overlap, expected disjoint spans")
    return found


def _span(given: Any, name: str) -> Span:
    try:
        start, end = given
        if isinstance(start, bool) or isinstance(end, bool):
            raise TypeError
        return index(start), index(end)
    except (TypeError, ValueError):
        raise UnitsError(f"{name} returned {given!r:.80}, expected a span (start, end) of two integers") from None
