"""The probe of a black box: rows of kept words become texts or records."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Note
from mase.errors import ShapeError
from mase.links import Output
from mase.models.protocol import Binding, Opened
from mase.models.rewriting import Content, Contents, Rewriter

__all__ = ["BlackBox", "CallableProbe"]


class BlackBox(Protocol):
    """What a probe needs of a black box."""

    @property
    def name(self) -> str:
        """Name for messages."""
        ...

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        ...

    def scores(self, texts: Sequence[Content]) -> Floats:
        """Return scores `(n, k)` of n texts or records."""
        ...


# Sorted columns are noticed from so many classes on, and by so many different gaps between two that are nearly equal.
_LEAST_CLASSES, _LEAST_NEAR, _NEAR = 3, 10, 0.05


@dataclass(slots=True)
class Order:
    """Whether the columns of all rows so far are sorted from the largest to the smallest, as no classes are.

    A pipeline lists the best class first. In a classifier of fixed columns two classes that are nearly as probable
    change places from row to row.
    """

    n_rows: int = 0
    sorted_rows: bool = True
    near: set[float] = field(default_factory=set)

    def see(self, scores: Floats) -> None:
        """Take note of scores `(n, k)`."""
        gaps = (scores[:, :-1] - scores[:, 1:]).min(axis=1)
        self.n_rows += len(scores)
        self.sorted_rows = self.sorted_rows and scores.shape[1] >= _LEAST_CLASSES and bool((gaps >= 0).all())
        if self.sorted_rows and len(self.near) < _LEAST_NEAR:
            self.near.update(np.round(gaps[(gaps > 0) & (gaps < _NEAR)], 6).tolist())

    @property
    def notes(self) -> tuple[Note, ...]:
        """A note if the columns are sorted beyond chance."""
        if not self.sorted_rows or len(self.near) < _LEAST_NEAR:
            return ()
        message = (
            f"the columns of all {self.n_rows} answers are sorted from the largest to the smallest, also where two are "
            "nearly equal: they seem to be ranks and not classes; return the classes in a fixed order, or a list of "
            "objects with a label and a score"
        )
        return (Note("sorted-columns", message),)


@dataclass(frozen=True, slots=True)
class CallableProbe:
    """A black box bound to one text. See `mase.models.protocol.Probe`."""

    model: BlackBox
    binding: Binding
    rewriter: Rewriter
    replacement: str | None
    start: Floats
    n_setup: int = 1
    batch_size: int = 256
    order: Order = field(default_factory=Order, compare=False)

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.model.output

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about the answers."""
        return (*getattr(self.model, "notes", ()), *self.order.notes)

    @property
    def scale(self) -> Floats:
        """Ones `(p,)`, and 0 for a number or a category that is equal to its background value."""
        scale = np.ones(self.binding.n_coordinates)
        unchanging = self.binding.coordinate_of_token[self.rewriter.unchanging]
        scale[unchanging[unchanging >= 0]] = 0.0  # a fixed one has no coordinate
        return scale

    def opened(self) -> Opened:
        """Return a context that yields `scores`; it needs no preparation."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at coordinates `(b, p)` of zeros and ones.

        Raises
        ------
        CapabilityError
            If a coordinate is neither 0 nor 1.
        """
        del rows
        kept = self.binding.kept_tokens(coordinates, "a function of texts")
        return self._evaluated(self.rewriter.masked_rows(kept, self.replacement))

    def exchanged(self, sources: Ints) -> Floats:
        """Return scores `(b, k)` where word i is replaced by word `sources[:, i]`; `sources` is `(b, p)`."""
        return self._evaluated([self.rewriter.exchanged(row) for row in self.binding.token_sources(sources)])

    def _evaluated(self, contents: list[Contents]) -> Floats:
        scores = self.model.scores([self.rewriter.content(one) for one in contents])
        if scores.shape[1] != self.start.shape[1]:
            raise ShapeError(
                f"{self.model.name} returned {scores.shape[1]} columns, "
                f"expected {self.start.shape[1]} as for the complete text"
            )
        if self.output.kind == "probabilities":
            self.order.see(scores)
        return scores
