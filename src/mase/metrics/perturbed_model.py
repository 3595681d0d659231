"""A model evaluated at a neighbour of the text: the coordinate of each word is multiplied by its own factor."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError
from mase.links import Contrast, Output
from mase.models.protocol import Binding, GradientProbe, HalfProbe, Model, Opened, Probe
from mase.models.wrapper import Wrapper
from mase.spaces.token_scale import TokenScale

__all__ = ["Nearby"]


class Nearby(Wrapper):
    """A model that reads r_i + factors[i] (e_i - r_i) in place of the embedding e_i of word i.

    r is the reference of the space. To explain this model is to explain the original one at a neighbouring point of
    embedding space: coordinate c of the neighbour is coordinate factors * c of the text. It serves one text, with one
    factor per word `(w,)`.
    """

    def __init__(self, model: Model, factors: Floats) -> None:
        super().__init__(model)
        self.factors = factors

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of the neighbour of one text.

        Raises
        ------
        CapabilityError
            If the model has no embeddings, or if the coordinates are not words.
        """
        if not self.model.has_embeddings:
            raise CapabilityError(
                f"{self.model.name} reads strings only, expected a model with embeddings; leave max-sensitivity out"
            )
        if binding.n_coordinates != len(self.factors):
            raise CapabilityError(
                f"the method has {binding.n_coordinates} coordinates, expected {len(self.factors)}: one per word"
            )
        probe = self.model.bind(binding)
        # Row 0 of a space with noise is noisy, but the response of the neighbour itself must be free of noise.
        clean = self.model.bind(replace(binding, space=TokenScale(), sigma=0.0)) if binding.space.noisy else probe
        start = clean.scores(self.factors[None, :], np.zeros(1, dtype=np.int64))
        kind = NearbyGradientProbe if isinstance(probe, GradientProbe) else NearbyProbe
        return kind(probe, self.factors, start)


@dataclass(frozen=True, slots=True)
class NearbyProbe:
    """The probe of a neighbour, whose class scores are `start` `(1, k)`. See `mase.models.protocol.Probe`."""

    probe: Probe
    factors: Floats
    start: Floats

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.probe.output

    @property
    def scale(self) -> Floats:
        """Standard deviations per unit of sigma `(p,)`."""
        return self.probe.scale

    @property
    def n_setup(self) -> int:
        """Number of evaluations for binding."""
        return self.probe.n_setup + 1

    @property
    def batch_size(self) -> int:
        """Number of rows per batch."""
        return self.probe.batch_size

    def opened(self) -> Opened:
        """Return the context of `scores`, which needs no preparation."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at the neighbour's coordinates `(b, p)`."""
        return self.probe.scores(coordinates * self.factors, rows)

    def half(self) -> Probe | None:
        """Return the probe of the same neighbour in half precision; None if the model's probe returns None.

        Raises
        ------
        CapabilityError
            If the model's probe does not support half precision.
        """
        if not isinstance(self.probe, HalfProbe):
            raise CapabilityError("this model has no half precision, expected precision='float32'")
        half = self.probe.half()
        return None if half is None else replace(self, probe=half)

    def exchanged(self, sources: Ints) -> Floats:
        """Raise an error: the words of a neighbour cannot be exchanged.

        Raises
        ------
        CapabilityError
            Always. A probe exchanges words of the text itself, at coordinates 1.
        """
        raise _without_neighbours("exchange words")

    def contributions(self, link: str | Contrast, target: int) -> Floats:
        """Raise an error: there are no contributions at a neighbour.

        Raises
        ------
        CapabilityError
            Always. A probe computes contributions for the text itself, at coordinates 1.
        """
        raise _without_neighbours("propagate differences through the layers (DeepLIFT)")


@dataclass(frozen=True, slots=True)
class NearbyGradientProbe(NearbyProbe):
    """The probe of a neighbour that also differentiates."""

    def gradients(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` with respect to the neighbour's coordinates."""
        assert isinstance(self.probe, GradientProbe)
        scores, slopes = self.probe.gradients(coordinates * self.factors, rows, link, target)
        return scores, slopes * self.factors

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: str | Contrast, target: int) -> Floats:
        """Return the norms `(b, p)` of the response's gradient with respect to the embeddings of each word.

        This gradient is with respect to the neighbour's embeddings, not its coordinates, so no factor is applied.
        """
        assert isinstance(self.probe, GradientProbe)
        return self.probe.gradient_norms(coordinates * self.factors, rows, link, target)


def _without_neighbours(what: str) -> CapabilityError:
    return CapabilityError(
        f"methods that {what} cannot explain the neighbours of a text, which max-sensitivity needs; "
        "leave out the metric or the method"
    )
