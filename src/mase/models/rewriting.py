"""Build the input for a black box: a document with some of its words removed or replaced."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Self

import numpy as np

from mase.arrays import Bools, Ints
from mase.document import Document, Field, Scalar
from mase.errors import EmptyTextError
from mase.text import Span, Tokens, find_words, joins

__all__ = ["Content", "Contents", "Rewriter", "parts_of", "rewritten", "word_tokens"]

# The contents of the fields of a document, in order.
Contents = tuple[Scalar, ...]
# What a function gets: the str of a plain text, or the contents by name.
Content = str | dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewrites a document field by field.

    Attributes
    ----------
    document
        The document.
    pieces
        Its t words in reading order. A number or a category is one word.
    words
        For each field, where its words are among all, and their spans in its text.
    continues
        For each word, whether it touches the word before it and belongs to the same coordinate. One replacement stands
        for both.
    """

    document: Document
    pieces: tuple[str, ...]
    words: tuple[tuple[slice, tuple[Span, ...]], ...]
    continues: tuple[bool, ...]
    tables: "dict[tuple[int, str | None], _Joined]" = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, tokens: Tokens, coordinate_of_token: Ints) -> Self:
        """Return the rewriter of a document whose tokens are its words, with the coordinate of each `(t,)`."""
        spans: dict[str, list[Span]] = {field.name: [] for field in tokens.document.fields}
        for span in tokens.spans:
            assert span is not None
            field, start, end = tokens.document.located(*span)
            spans[field.name].append((start, end))
        ends = accumulate(map(len, spans.values()))
        words = tuple((slice(end - len(own), end), tuple(own)) for end, own in zip(ends, spans.values(), strict=True))
        same = (coordinate_of_token[1:] == coordinate_of_token[:-1]).tolist()
        touching = [first[1] == second[0] for first, second in pairwise(filter(None, tokens.spans))]
        continues = (False, *map(all, zip(same, touching, strict=True)))
        return cls(tokens.document, tokens.pieces, words, continues)

    @property
    def unchanging(self) -> list[int]:
        """Indices of the numbers and categories that are not fixed and equal to their background values."""
        fields = zip(self.document.fields, self.words, strict=True)
        return [
            own.start
            for field, (own, spans) in fields
            if spans and not field.fixed and field.value == field.background is not None
        ]

    def masked(self, kept: Bools, replacement: str | None) -> Contents:
        """Return the contents without the words that are not `kept` `(t,)`, or with the replacement in their place.

        Words of one coordinate that touch, such as a word and its punctuation, get one replacement. A number or a
        category gives way to its background value. A text that is one of several fields is empty if all of its words
        are removed.
        """
        return self.masked_rows(kept[None], replacement)[0]

    def masked_rows(self, kept: Bools, replacement: str | None) -> list[Contents]:
        """Return the contents as `masked` does for each of several rows `(b, t)`."""
        numbers, t = np.arange(kept.shape[1]), kept.shape[1]
        left: Bools = kept
        items: Ints = np.broadcast_to(numbers, kept.shape)
        if replacement is not None:
            left = kept | np.array([not one for one in self.continues])
            items = np.where(kept, numbers, numbers + t)
        fields = range(len(self.words))
        columns = [self._masked_field(field, kept, left, items, replacement) for field in fields]
        return [*zip(*columns, strict=True)]

    def _masked_field(
        self, number: int, kept: Bools, left: Bools, items: Ints, replacement: str | None
    ) -> Sequence[Scalar]:
        """Return the content of a field for each row, whose words or replacements `items` are `left` `(b, t)`."""
        part, (own, spans) = self.document.fields[number], self.words[number]
        if part.value is not None:
            if part.background is None:
                return [part.value] * len(kept)
            return [part.value if row.all() else part.background for row in kept[:, own]]
        if not spans:
            return [part.text] * len(kept)
        if (number, replacement) not in self.tables:
            words = dict(enumerate(self.pieces[own], own.start))
            blanks = {} if replacement is None else dict.fromkeys((t + len(self.pieces) for t in words), replacement)
            self.tables[number, replacement] = _Joined(part.text, spans, own.start, len(self.pieces), words | blanks)
        table, texts = self.tables[number, replacement], []
        for some, row in zip(left[:, own], items[:, own], strict=True):
            chosen = row[some].tolist()
            texts.append(table.text_of(chosen) if chosen or self.document.is_plain else "")
        return texts

    def exchanged(self, sources: Ints) -> Contents:
        """Return the contents with word i replaced by word `sources[i]` `(t,)`.

        A number or a category in whose place another word would be gives way to its background value.
        """
        pieces = [self.pieces[source] for source in sources]
        return self._contents(pieces, sources != np.arange(len(sources)))

    def content(self, contents: Contents) -> Content:
        """Return what a function gets for the contents of the fields: a str, or a new dict."""
        if self.document.is_plain:
            return str(contents[0])
        return self.document.record(contents)

    def _contents(self, pieces: Sequence[str | None], replaced: Bools) -> Contents:
        contents: list[Scalar] = []
        for part, (own, spans) in zip(self.document.fields, self.words, strict=True):
            if part.value is None:
                contents.append(self._rewritten(part.text, spans, pieces[own]))
            elif part.background is not None and replaced[own].any():
                contents.append(part.background)
            else:
                contents.append(part.value)
        return tuple(contents)

    def _rewritten(self, text: str, spans: Sequence[Span], pieces: Sequence[str | None]) -> str:
        if spans and not self.document.is_plain and all(piece is None for piece in pieces):
            return ""
        return rewritten(text, spans, pieces)


_MOST_PAIRS = 20_000  # that are kept, for texts of thousands of words


class _Joined(dict[tuple[int, int], str]):
    """What stands between two words that are left, and the second of these: a row of a text is a sequence of them.

    A word that was replaced has its number plus `n`. Pairs are joined when they are first asked for.
    """

    def __init__(self, text: str, spans: Sequence[Span], first: int, n: int, pieces: dict[int, str]) -> None:
        super().__init__()
        self._spans, self._first, self._n, self._pieces = spans, first, n, pieces
        self._before, self._after = text[: spans[0][0]], text[spans[-1][1] :]
        self._gaps = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
        self._widths = [*map(_width, self._gaps)]

    def __missing__(self, pair: tuple[int, int]) -> str:
        one, other = (item % self._n - self._first for item in pair)
        piece = self._pieces[pair[1]]
        widest = self._gaps[one if other == one + 1 else max(range(one, other), key=self._widths.__getitem__)]
        found = (widest or (" " if joins(self._pieces[pair[0]], piece) else "")) + piece
        if len(self) >= _MOST_PAIRS:
            self.clear()
        self[pair] = found
        return found

    def text_of(self, left: Sequence[int]) -> str:
        """Return the text of which these words are left."""
        if not left:
            return max(self._before, self._after, key=_width)
        pairs = map(self.__getitem__, pairwise(left))
        return "".join([self._before, self._pieces[left[0]], *pairs, self._after])


def word_tokens(document: Document) -> Tokens:
    """Return the words of a document as its tokens, for a model that takes texts; a number or a category is one token.

    Raises
    ------
    EmptyTextError
        If there is none.
    """
    spans = tuple(
        (first + start, first + end)
        for field, first in zip(document.fields, document.starts, strict=True)
        for start, end in _words(field)
    )
    if not spans:
        raise EmptyTextError(f"text {document.text[:40]!r} has no word, expected at least one")
    pieces = tuple(document.text[start:end] for start, end in spans)
    return Tokens(document, tuple(range(len(spans))), pieces, spans, (False,) * len(spans))


def parts_of(content: Content, replacement: str | None, n: int = 8) -> list[Content]:
    """Return n copies of a text or record, each without half of its words, but for one; always the same."""
    tokens = word_tokens(Document.of(content))
    kept = np.random.default_rng(0).random((n, len(tokens))) < 0.5
    kept[np.arange(n), np.arange(n) % len(tokens)] = True
    rewriter = Rewriter.of(tokens, np.arange(len(tokens)))
    return [rewriter.content(rewriter.masked(row, replacement)) for row in kept]


def _words(field: Field) -> list[Span]:
    """Return the spans of the words of a field; a number or a category is one word."""
    if field.value is None:
        return find_words(field.text)
    return [(0, len(field.text))] if field.text.strip() else []


def rewritten(text: str, spans: Sequence[Span], pieces: Sequence[str | None]) -> str:
    """Return a text with the word at `spans[i]` replaced by `pieces[i]`, or removed where `pieces[i]` is None.

    Of the gaps around removed words, one gap remains: the one with the most line breaks, and among these the longest.
    No white space is added at the beginning or at the end of the text. If two words would run together because the
    characters between them are gone, one space separates them.

    Examples
    --------
    >>> from mase.text import find_words
    >>> text = "open-source, as  ever"
    >>> spans = find_words(text)
    >>> words = [text[start:end] for start, end in spans]
    >>> rewritten(text, spans, [None if word in ("-", "as") else word for word in words])
    'open source,  ever'
    """
    first = text[: spans[0][0]] if spans else text
    parts: list[str] = []
    widest, end = None, 0  # the widest gap since the last word that is left
    for (start, stop), piece in zip(spans, pieces, strict=True):
        gap, end = text[end:start], stop
        if widest is None or (gap != widest and _width(gap) > _width(widest)):
            widest = gap
        if piece is not None:
            apart = (widest or (" " if joins(parts[-1], piece) else "")) if parts else first
            parts += [apart, piece]
            widest = None
    last = text[end:]
    return "".join([*parts, last]) if parts else max(first, last, key=_width)


def _width(gap: str) -> tuple[int, int]:
    return gap.count("\n"), len(gap)
