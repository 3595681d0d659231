"""Where a text that is longer than the model reads is cut into windows."""

import re
from bisect import bisect_left, bisect_right
from collections import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

from mase.attribution.attribution import Attribution, Token, Unit
from mase.defaults import Pooling
from mase.document import Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, OptionError
from mase.models.base import Model
from mase.models.chat.answers import ChatModel
from mase.models.function import Callable
from mase.models.language.answers import Generated, GivenAnswer, LabelWords
from mase.options import Windows
from mase.text import Span, Tokens, find_words
from mase.units.splitters import Splitter, grown, spans_of
from mase.units.splitters import Token as PerToken

# Whether units `first` to `last - 1` fit into a window.
Fits = abc.Callable[[int, int], bool]

# The end of a sentence or of a line, at the end of what lies before the next unit.
_ENDS = re.compile(r"[.!?…][\"'”’»)\]]*\s+\Z|[。！？][」』”’）]*\s*\Z|\n\s*\Z")
_FIRST_GUESS = 64


def cuts(n: int, fits: Fits, begins: Sequence[bool], overlap: float) -> list[Span]:
    """Return the windows over n units, each as the indices of its first unit and of the one after its last.

    A window is as long as it fits, and at least one unit. It ends where a sentence ends, if one ends in its second
    half, and the next one begins where a sentence begins, if possible. The last one begins as early as it fits.

    Parameters
    ----------
    n
        Number of units.
    fits
        Whether units `first` to `last - 1` fit into a window.
    begins
        For each unit, whether a sentence begins with it.
    overlap
        Share of the units of a window that the next one also has, from 0 to below 1, rounded to whole units. It has
        more if that is what it takes to begin with a sentence, and none if nothing new would fit behind them.

    Examples
    --------
    >>> cuts(10, lambda first, last: last - first <= 4, [True] * 10, 0.25)
    [(0, 4), (3, 7), (6, 10)]
    """
    windows: list[Span] = []
    first, size = 0, min(_FIRST_GUESS, n)
    while True:
        last = _longest(first, n, fits, size)
        done = windows[-1][1] if windows else 0
        if last <= done:  # nothing new fits behind what overlaps
            first = done
            continue
        if last == n:
            return [*windows, (_first_sentence(_earliest(n, first, fits), first, begins), n)]
        size = last - first
        last = _last_sentence(max(done, last - size // 2 - 1), last, begins)
        windows.append((first, last))
        first = _last_sentence(first, max(last - round(overlap * (last - first)), first + 1), begins)


def begins_sentence(text: str, units: Sequence[Span]) -> list[bool]:
    """Return for each unit of a text whether it is the first, or what is before it ends with a sentence or a line."""
    before = [text[start:following] for (start, _), (following, _) in pairwise(units)]
    return [True, *(_ENDS.search(part) is not None for part in before)][: len(units)]


def _longest(first: int, n: int, fits: Fits, guess: int) -> int:
    """Return the largest index up to which the units from `first` on fit, at least `first` + 1."""
    high = first + guess
    while high < n and fits(first, high):
        high = first + 2 * (high - first)
    rest = range(first + 2, min(high, n) + 1)
    return first + 1 + bisect_left(rest, True, key=lambda last: not fits(first, last))


def _earliest(n: int, first: int, fits: Fits) -> int:
    """Return the smallest index from which all units to the end fit; the units from `first` on do."""
    return bisect_left(range(first), True, key=lambda earlier: fits(earlier, n))


def _last_sentence(low: int, high: int, begins: Sequence[bool]) -> int:
    """Return the last index in (`low`, `high`] with which a sentence begins; `high` if there is none."""
    return next((index for index in range(high, low, -1) if begins[index]), high)


def _first_sentence(low: int, high: int, begins: Sequence[bool]) -> int:
    """Return the first index in [`low`, `high`] with which a sentence begins; `low` if there is none."""
    return next((index for index in range(low, high + 1) if begins[index]), low)


# Units in the first part of the text whose tokens are looked at.
_FIRST_PART, _SMALLEST_PART = 512, 16


def only(document: Document, index: int, span: Span) -> Document:
    """Return the document with nothing but a part of the text in a field."""
    fields = list(document.fields)
    fields[index] = replace(fields[index], text=fields[index].text[slice(*span)])
    return replace(document, fields=tuple(fields))


def with_words(words: Sequence[Span], units: Sequence[Span]) -> list[Span]:
    """Return units together with the words between them."""
    starts = [start for start, _ in units]
    between = []
    for start, end in words:
        at = bisect_left(starts, end)  # the units before it begin before it ends
        if not at or units[at - 1][1] <= start:
            between.append((start, end))
    return sorted([*units, *between])


def places(model: Model, document: Document, index: int, spans: Sequence[Span]) -> list[Span]:
    """Return spans in the text of a field, grown to the ends of the tokens that they cut through.

    The model reads a part of the text at a time. The last span of a part may be cut by its end, and is read again.
    """
    text, result = document.fields[index].text, list[Span]()
    ends = [end for _, end in spans]
    begin, size = 0, _FIRST_PART
    while (first := bisect_right(ends, begin)) < len(spans):
        last = min(first + size, len(spans))
        stop = len(text) if last == len(spans) else ends[last - 1]
        here = [(max(start, begin), end) for start, end in spans[first:last]]
        seen, is_whole = _read(model, document, index, (begin, stop), here)
        if not is_whole and len(seen) > 1:
            seen.pop()
        done = stop if is_whole or not seen else seen[-1][1]
        apart = [item for item in here if item[1] <= done and not _overlaps(item, seen)]
        result += sorted([*seen, *apart])
        begin, size = done, max(_SMALLEST_PART, 2 * (bisect_right(ends, done) - first))
    return result


def _read(model: Model, document: Document, index: int, part: Span, spans: Sequence[Span]) -> tuple[list[Span], bool]:
    """Return the spans in a part of the text that the model reads, grown to its tokens, and whether it reads all."""
    alone = only(document, index, part)
    try:
        tokens: Tokens = model.encode(alone)
    except EmptyTextError:
        return [], True
    shift = alone.starts[index] - part[0]
    moved = grown(tokens, [(start + shift, end + shift) for start, end in spans])
    back = [(start - shift, end - shift) for start, end in moved]
    is_whole = tokens.truncation is None and part[1] == len(document.fields[index].text)
    return [item for item in back if part[0] <= item[0] and item[1] <= part[1]], is_whole


def _overlaps(span: Span, others: Sequence[Span]) -> bool:
    """Return whether a span overlaps one of others, which are sorted and do not overlap each other."""
    at = bisect_left(others, span[1], key=lambda item: item[0])
    return at > 0 and others[at - 1][1] > span[0]


def check_windows(windows: Windows | None, model: Model, zoom: int) -> Windows | None:
    """Return the options of windows, if the model can say how much of a text it reads."""
    if windows is not None and isinstance(model, Callable):
        raise CapabilityError(
            f"{model.name} is a function, which does not say how much of a text it reads, expected a model that cuts "
            "off long texts and says so; leave windows out, or explain the parts of the text one by one"
        )
    if windows is not None and isinstance(model, GivenAnswer | Generated | LabelWords | ChatModel):
        raise CapabilityError(
            f"{model.name} is a language model, which reads a prompt as a whole, expected a model that cuts off long "
            "texts and says so; leave windows out and use a shorter prompt"
        )
    if windows is not None and zoom:
        raise OptionError(f"zoom is {zoom} with windows, expected one of them; explain the windows that matter")
    return windows


@dataclass(frozen=True, slots=True)
class _Within:
    """Splits the text of a window into the units that the whole text has there, and other texts as `splitter` does."""

    splitter: Splitter
    text: str
    units: tuple[Span, ...]

    @property
    def name(self) -> str:
        return self.splitter.name

    @property
    def complete(self) -> bool:
        return self.splitter.complete

    def split(self, text: str) -> list[Span]:
        return list(self.units) if text == self.text else self.splitter.split(text)


@dataclass(frozen=True, slots=True)
class WindowText:
    """The document of one window.

    Attributes
    ----------
    field, span
        Name of the field that is read in windows, and the window as a span in its text.
    document
        The document, with nothing but the window in the field.
    splitter
        How it is split into units: the window as the whole text is.
    is_first, is_last
        Whether the text begins or ends with the window.
    """

    field: str
    span: Span
    document: Document
    splitter: Splitter
    is_first: bool
    is_last: bool

    def placed(self, unit: Unit | Token) -> Span:
        """Return the span in the text of its field of a unit or a token that has one in that of the window."""
        assert unit.start is not None
        assert unit.end is not None
        offset = self.span[0] if unit.field == self.field else 0
        return unit.start + offset, unit.end + offset


@dataclass(frozen=True, slots=True)
class LongText:
    """A document, one text of which is read in windows; the other fields stand whole in every window.

    Attributes
    ----------
    document
        The document.
    index
        Index of the field that is read in windows.
    spans
        The windows, as spans in the text of the field.
    splitter
        How texts are split into units.
    pooling
        How the predictions for the windows become one.
    """

    document: Document
    index: int
    spans: tuple[Span, ...]
    splitter: Splitter
    pooling: Pooling

    @classmethod
    def of(cls, model: Model, document: Document, splitter: Splitter, windows: Windows) -> Self | None:
        """Return a document in windows, or None if the model reads all of it, or it has no unit.

        The longest text that is not fixed is read in windows of the model's own length. They begin and end between
        units and between tokens, and with sentences where possible. A unit that is longer than the model reads is a
        window of its own.
        """
        if model.encode(document).truncation is None:
            return None
        free = [i for i, field in enumerate(document.fields) if field.value is None and not field.fixed]
        index = max(free, key=lambda i: len(document.fields[i].text), default=0)
        name, text = document.fields[index].name, document.fields[index].text
        units = spans_of(splitter.split, text, splitter.name)
        if not units:
            return None
        words = find_words(text)
        shortest = min(words or units, key=lambda item: item[1] - item[0])
        if not free or (len(document.fields) > 1 and not _reads(model, only(document, index, shortest))):
            raise InvalidTextError(
                f"the fields beside {name!r} fill what {model.name} reads, expected room for some of {name!r} in every "
                "window; shorten them, or leave windows out"
            )
        between = places(model, document, index, units if splitter.complete else with_words(words, units))

        def span(first: int, last: int) -> Span:
            return between[first][0], between[last - 1][1]

        def reads(first: int, last: int) -> bool:
            return _reads(model, only(document, index, span(first, last)))

        indices = cuts(len(between), reads, begins_sentence(text, between), windows.overlap)
        spans = [span(*window) for window in indices]
        return cls(document, index, tuple(item for item in spans if _within(item, units)), splitter, windows.pooling)

    @classmethod
    def found(cls, attribution: Attribution, splitter: Splitter) -> Self:
        """Return the long text of an attribution that has windows."""
        document, spans = (
            Document(attribution.document),
            tuple((window.start, window.end) for window in attribution.windows),
        )
        index = [field.name for field in document.fields].index(attribution.windows[0].field)
        return cls(document, index, spans, splitter, attribution.method["pooling"])

    @property
    def windows(self) -> list[WindowText]:
        """The documents of the windows."""
        field, result = self.document.fields[self.index], []
        units = spans_of(self.splitter.split, field.text, self.splitter.name)
        for start, end in self.spans:
            within = [(first - start, last - start) for first, last in _within((start, end), units)]
            splitter = _Within(self.splitter, field.text[start:end], tuple(within))
            result.append(
                WindowText(
                    field.name,
                    (start, end),
                    only(self.document, self.index, (start, end)),
                    self.splitter if isinstance(self.splitter, PerToken) else splitter,
                    is_first=not field.text[:start].strip(),
                    is_last=not field.text[end:].strip(),
                )
            )
        return result


def _reads(model: Model, document: Document) -> bool:
    """Return whether a model reads all of a document."""
    try:
        return model.encode(document).truncation is None
    except EmptyTextError:
        return True


def _within(span: Span, units: Sequence[Span]) -> list[Span]:
    """Return the units that lie in a span."""
    return [unit for unit in units if span[0] <= unit[0] and unit[1] <= span[1]]
