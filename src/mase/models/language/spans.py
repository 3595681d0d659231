"""The spans of tokens in a text, from the texts that they add up to."""

from collections.abc import Sequence

from mase.text import Span

__all__ = ["grown"]


def grown(text: str, beginnings: Sequence[str]) -> tuple[Span, ...]:
    """Return the span that each token adds to a text, where `beginnings` are the texts of the tokens up to it.

    The pieces of one character have the same span.
    """
    spans: list[Span] = []
    pending, start = 0, 0
    for beginning in beginnings:
        end = max(start, _shared(text, beginning))
        pending += 1
        if end > start:  # otherwise the token is a piece of a character, or adds none
            spans += [(start, end)] * pending
            start, pending = end, 0
    return (*spans, *[(start, len(text))] * pending)


def _shared(left: str, right: str) -> int:
    """Return the length of the common beginning."""
    n = min(len(left), len(right))
    return next((index for index in range(n) if left[index] != right[index]), n)
