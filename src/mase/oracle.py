"""The oracle over a probe: what `mase.procedure.Oracle` promises, by way of `mase.query`."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats, Ints
from mase.attribution import Note
from mase.errors import CapabilityError
from mase.links import FLOOR, Link, floored, respond
from mase.models.protocol import AttributionProbe, ExchangeProbe, GradientProbe, NormProbe, Probe
from mase.query import ask, ask_exchanged, ask_gradients, ask_norms

__all__ = ["ProbeOracle"]


@dataclass(slots=True)
class ProbeOracle:
    """One target of a probe under one link, asked about its `active` coordinates `(p,)`; the others stay at 1.

    It is the one value here that changes: it counts the evaluations and the gradients that it was asked for. Rows are
    numbered on from question to question, so that a design gets the same noise in one round or in several.
    """

    probe: Probe
    method: str
    link: Link
    target: int
    active: Ints
    batch_size: int | None = None
    n_queries: int = 0
    n_gradients: int = 0
    n_floored: int = 0

    @property
    def size(self) -> int:
        """Number of coordinates p."""
        return len(self.active)

    @property
    def text(self) -> float:
        """Response at the text itself; costs nothing."""
        return float(respond(self.probe.start, self.probe.output, self.link, self.target)[0])

    def responses(self, coordinates: Floats) -> Floats:
        """Return the responses `(n,)` at coordinates `(n, p)`."""
        first = self._count(len(coordinates))
        return self._respond(ask(self.probe, self._spread(coordinates), self.batch_size, first))

    def gradients(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Return responses `(n,)` and their derivatives `(n, p)` at coordinates `(n, p)`.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        if not isinstance(self.probe, GradientProbe):
            raise self._no_gradients()
        first = self._count(len(coordinates), gradients=True)
        scores, slopes = ask_gradients(self.probe, self._spread(coordinates), self.link, self.target, self._size, first)
        return self._respond(scores), slopes[:, self.active]

    def derivatives(self, coordinates: Floats) -> Floats:
        """Return the derivatives `(n, p)` of the response by the coordinates."""
        return self.gradients(coordinates)[1]

    def gradient_norms(self, coordinates: Floats) -> Floats:
        """Return the norms `(n, p)` of the response's gradient by the vectors of each word.

        Raises
        ------
        CapabilityError
            If the probe has no gradients.
        """
        if not isinstance(self.probe, NormProbe):
            raise self._no_gradients()
        first = self._count(len(coordinates), gradients=True)
        return ask_norms(self.probe, self._spread(coordinates), self.link, self.target, self._size, first)[:, self.active]

    def exchanged(self, sources: Ints) -> Floats:
        """Return the responses `(n,)` where word i has the content of word `sources[:, i]`.

        Raises
        ------
        CapabilityError
            If the probe cannot exchange words.
        """
        if not isinstance(self.probe, ExchangeProbe):
            raise CapabilityError(f"method {self.method!r} exchanges words, which this model cannot; use method='occlusion'")
        whole = np.tile(np.arange(len(self.probe.widths)), (len(sources), 1))
        whole[:, self.active] = self.active[sources]
        self._count(len(sources))
        return self._respond(ask_exchanged(self.probe, whole, self._size))

    def contributions(self) -> Floats:
        """Return the DeepLIFT contributions `(p,)`; costs one gradient of the text and its reference.

        Raises
        ------
        CapabilityError
            If the probe has no rules for its layers.
        """
        if not isinstance(self.probe, AttributionProbe):
            raise CapabilityError(
                f"method {self.method!r} is for the bundled LSTM classifiers, which this model is not; use 'kernel-shap'"
            )
        found = self.probe.contributions(self.link, self.target)[self.active]
        self._count(2, gradients=True)
        return found

    def fresh(self, probe: Probe | None = None) -> "ProbeOracle":
        """Return an oracle of the same question that starts to count at 0, over another probe if one is given."""
        return replace(self, probe=probe or self.probe, n_queries=0, n_gradients=0, n_floored=0)

    @property
    def _size(self) -> int:
        return self.batch_size or self.probe.batch_size

    def _no_gradients(self) -> CapabilityError:
        return CapabilityError(
            f"method {self.method!r} needs the model's gradients, which this model does not give; use method='mase'"
        )

    def _count(self, n: int, *, gradients: bool = False) -> int:
        """Return the number of the next row and count n more."""
        first = self.n_queries
        self.n_queries += n
        self.n_gradients += n if gradients else 0
        return first

    def _spread(self, coordinates: Floats) -> Floats:
        """Return the coordinates of all words, 1 for those that are not asked about."""
        if self.size == len(self.probe.widths):
            return coordinates
        whole = np.ones((len(coordinates), len(self.probe.widths)))
        whole[:, self.active] = coordinates
        return whole

    def remarks(self) -> tuple[Note, ...]:
        """Return what a reader must know of the answers."""
        if not self.n_floored:
            return ()
        message = (
            f"{self.n_floored} of {self.n_queries} answers had a probability below {FLOOR:g}, whose logarithm may be "
            f"infinite: it was counted as {FLOOR:g}; give logits (outputs='logits') if there are any, or link='probability'"
        )
        return (Note("floored", message),)

    def _respond(self, scores: Floats) -> Floats:
        self.n_floored += int(floored(scores, self.probe.output, self.link, self.target).sum())
        return respond(scores, self.probe.output, self.link, self.target)
