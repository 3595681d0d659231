"""Build the string for a black box: a text with some of its words removed or replaced."""

from collections.abc import Sequence

from mase.text import Tokens, joins

__all__ = ["rewritten"]


def rewritten(tokens: Tokens, pieces: Sequence[str | None]) -> str:
    """Return the text with word i replaced by `pieces[i]`, or removed where `pieces[i]` is None.

    Of the gaps around removed words, one gap remains: the one with the most line breaks, and among these the longest.
    No white space is added at the beginning or at the end of the text. If two words would run together because the
    characters between them are gone, one space separates them.

    Examples
    --------
    >>> from mase.document import Document
    >>> from mase.text import find_words
    >>> text = "open-source, as  ever"
    >>> spans = tuple(find_words(text))
    >>> words = [text[start:end] for start, end in spans]
    >>> n = len(words)
    >>> tokens = Tokens(Document.of(text), tuple(range(n)), tuple(words), spans, (False,) * n)
    >>> rewritten(tokens, [None if word in ("-", "as") else word for word in words])
    'open source,  ever'
    """
    text, end = tokens.text, 0
    parts: list[str] = []
    gaps: list[str] = []
    for span, piece in zip(tokens.spans, pieces, strict=True):
        assert span is not None
        gaps.append(text[end : span[0]])
        end = span[1]
        if piece is not None:
            parts += [_between(gaps, parts[-1], piece) if parts else gaps[0], piece]
            gaps = []
    gaps.append(text[end:])
    return "".join([*parts, gaps[-1] if parts else _widest([gaps[0], gaps[-1]])])


def _between(gaps: Sequence[str], left: str, right: str) -> str:
    """Return the gap between two consecutive words, chosen from the gaps of the original text between them."""
    gap = gaps[0] if len(gaps) == 1 else _widest(gaps)
    return gap or (" " if joins(left, right) else "")


def _widest(gaps: Sequence[str]) -> str:
    return max(gaps, key=lambda gap: (gap.count("\n"), len(gap)))
