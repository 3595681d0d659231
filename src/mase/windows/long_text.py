"""A document with a text that is longer than the model reads, cut into windows of that text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from mase.attribution import Attribution, Token, Unit
from mase.choices import Pooling
from mase.document import Document
from mase.errors import CapabilityError, EmptyTextError, InvalidTextError, OptionError
from mase.models.callable import Callable
from mase.models.language.generated import Generated
from mase.models.language.given import GivenAnswer
from mase.models.language.label_words import LabelWords
from mase.models.protocol import Model
from mase.options import Windows
from mase.text import Span, find_words
from mase.units import Splitter
from mase.units.spans import spans_of
from mase.units.token import Token as PerToken
from mase.windows.cuts import begins_sentence, cuts
from mase.windows.places import only, places, with_words

__all__ = ["LongText", "WindowText", "check_windows"]


def check_windows(windows: Windows | None, model: Model, zoom: int) -> Windows | None:
    """Return the options of windows, if the model can say how much of a text it reads.

    Raises
    ------
    CapabilityError
        If it is a function, which gets texts of any length, or a language model, which gets whole prompts.
    OptionError
        If units are zoomed in on, too.
    """
    if windows is not None and isinstance(model, Callable):
        raise CapabilityError(
            f"{model.name} is a function, which does not say how much of a text it reads, expected a model that cuts "
            "off long texts and says so; use long='cut', or explain the parts of the text one by one"
        )
    if windows is not None and isinstance(model, GivenAnswer | Generated | LabelWords):
        raise CapabilityError(
            f"{model.name} is a language model, which reads a prompt as a whole, expected a model that cuts off long "
            "texts and says so; use long='cut' and a shorter prompt"
        )
    if windows is not None and zoom:
        raise OptionError(f"zoom is {zoom} with long='windows', expected one of them; explain the windows that matter")
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

        Raises
        ------
        InvalidTextError
            If the rest of the document alone is longer than the model reads.
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
        shortest = min(words or units, key=lambda one: one[1] - one[0])
        if not free or (len(document.fields) > 1 and not _reads(model, only(document, index, shortest))):
            raise InvalidTextError(
                f"the fields beside {name!r} fill what {model.name} reads, expected room for some of {name!r} in every "
                "window; shorten them, or use long='cut'"
            )
        between = places(model, document, index, units if splitter.complete else with_words(words, units))

        def span(first: int, last: int) -> Span:
            return between[first][0], between[last - 1][1]

        def reads(first: int, last: int) -> bool:
            return _reads(model, only(document, index, span(first, last)))

        indices = cuts(len(between), reads, begins_sentence(text, between), windows.overlap)
        spans = [span(*window) for window in indices]
        return cls(document, index, tuple(one for one in spans if _within(one, units)), splitter, windows.pooling)

    @classmethod
    def found(cls, found: Attribution, splitter: Splitter) -> Self:
        """Return the long text of an attribution that has windows."""
        document, spans = Document(found.document), tuple((window.start, window.end) for window in found.windows)
        index = [field.name for field in document.fields].index(found.windows[0].field)
        return cls(document, index, spans, splitter, found.method["pooling"])

    @property
    def windows(self) -> list[WindowText]:
        """The documents of the windows."""
        field, found = self.document.fields[self.index], []
        units = spans_of(self.splitter.split, field.text, self.splitter.name)
        for start, end in self.spans:
            within = [(first - start, last - start) for first, last in _within((start, end), units)]
            splitter = _Within(self.splitter, field.text[start:end], tuple(within))
            found.append(
                WindowText(
                    field.name,
                    (start, end),
                    only(self.document, self.index, (start, end)),
                    self.splitter if isinstance(self.splitter, PerToken) else splitter,
                    is_first=not field.text[:start].strip(),
                    is_last=not field.text[end:].strip(),
                )
            )
        return found


def _reads(model: Model, document: Document) -> bool:
    """Return whether a model reads all of a document."""
    try:
        return model.encode(document).truncation is None
    except EmptyTextError:
        return True


def _within(span: Span, units: Sequence[Span]) -> list[Span]:
    """Return the units that lie in a span."""
    return [unit for unit in units if span[0] <= unit[0] and unit[1] <= span[1]]
