"""A document with a text that is longer than the model reads, explained in windows of that text."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from mase.attribution import Attribution, Note, Prediction
from mase.choices import Pooling
from mase.document import Document, Field
from mase.errors import EmptyTextError, InvalidTextError
from mase.models.protocol import Model
from mase.target import target_index
from mase.text import Span
from mase.windows.combining import Part, combined
from mase.windows.cuts import begins_sentence, cuts
from mase.windows.pooling import pooled

__all__ = ["LongText"]

Split = Callable[[str], Sequence[Span]]
# Explains a document, whose units are those of `Split`, for a class.
Explain = Callable[[Document, Split, str], Attribution]


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
    units
        The units of the field, as spans in its text.
    split
        How texts are split into units.
    """

    document: Document
    index: int
    spans: tuple[Span, ...]
    units: tuple[Span, ...]
    split: Split

    @classmethod
    def of(cls, model: Model, document: Document, split: Split, overlap: float) -> Self | None:
        """Return a document in windows, or None if the model reads all of it.

        The longest text that is not fixed is read in windows of the model's own length. They begin and end between
        units, and with sentences where possible.

        Raises
        ------
        InvalidTextError
            If the rest of the document alone is longer than the model reads.
        """
        if model.encode(document).truncation is None:
            return None
        free = [i for i, field in enumerate(document.fields) if field.value is None and not field.fixed]
        index = max(free, key=lambda i: len(document.fields[i].text))
        text = document.fields[index].text
        units = tuple(split(text))

        def fits(first: int, last: int) -> bool:
            return _fits(model, _part(document, index, (units[first][0], units[last - 1][1])))

        if len(document.fields) > 1 and not fits(0, 1):
            raise InvalidTextError(
                f"the fields beside {document.fields[index].name!r} fill what {model.name} reads, expected room for a "
                "unit of it in each window; shorten them, or use long='cut'"
            )
        ends = cuts(len(units), fits, begins_sentence(text, units), overlap)
        return cls(document, index, tuple((units[a][0], units[b - 1][1]) for a, b in ends), units, split)

    @property
    def field(self) -> Field:
        """The field that is read in windows."""
        return self.document.fields[self.index]

    @property
    def parts(self) -> list[Document]:
        """For each window, the document with nothing but the window in the field."""
        return [_part(self.document, self.index, span) for span in self.spans]

    def splitter(self, span: Span) -> Split:
        """Return how the document of a window is split: its text as the whole text, and others as they are."""
        text = self.field.text[slice(*span)]
        units = [(start - span[0], end - span[0]) for start, end in self.units if span[0] <= start and end <= span[1]]
        return lambda other: units if other == text else self.split(other)

    def predicted(self, model: Model, pooling: Pooling) -> str:
        """Return the class of highest pooled probability, from one evaluation per window."""
        numbers = pooled(np.asarray(model.predict(self.parts), dtype=np.float64), pooling)
        return model.labels[int(np.argmax(numbers))]
