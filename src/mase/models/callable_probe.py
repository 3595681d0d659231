"""The probe of a black box: rows of kept words become texts or records."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mase.arrays import Floats, Ints
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

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.model.output

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
        return scores
