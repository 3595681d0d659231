"""A model whose texts lie a little beside the real ones: each word's coordinate is stretched by its own factor."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError
from mase.links import Link, Output
from mase.models.protocol import Binding, GradientProbe, HalfProbe, Model, Opened, Probe
from mase.models.wrapper import Wrapper
from mase.spaces.token_scale import TokenScale

__all__ = ["Nearby"]


class Nearby(Wrapper):
    """A model that reads, in place of word i's embedding e_i, r_i + factors[i] (e_i - r_i), r being the space's reference.

    Explaining it explains the real model at a neighbouring point of embedding space: coordinate c of the neighbour is
    coordinate factors * c of the text. For one text: there are as many factors `(w,)` as it has words.
    """

    def __init__(self, model: Model, factors: Floats) -> None:
        super().__init__(model)
        self.factors = factors

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of the neighbour of one text.

        Raises
        ------
        CapabilityError
            If the model has no embeddings, or coordinates are not words.
        """
        if not self.model.has_embeddings:
            raise CapabilityError(
                f"{self.model.name} reads strings only, which have no neighbours; expected embeddings"
            )
        if binding.n_coordinates != len(self.factors):
            raise CapabilityError(
                f"the method has {binding.n_coordinates} coordinates, expected {len(self.factors)}: one per word"
            )
        probe = self.model.bind(binding)
        # Row 0 of a space with noise is a noisy one: the neighbour itself is asked without.
        clean = self.model.bind(replace(binding, space=TokenScale(), sigma=0.0)) if binding.space.noisy else probe
        start = clean.scores(self.factors[None, :], np.zeros(1, dtype=np.int64))
        kind = NearbyGradientProbe if isinstance(probe, GradientProbe) else NearbyProbe
        return kind(probe, self.factors, start)


@dataclass(frozen=True, slots=True)
class NearbyProbe:
    """The probe of a neighbour, whose own scores are `start` `(1, k)`. See `mase.models.protocol.Probe`."""

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
        """Rows at once."""
        return self.probe.batch_size

    def opened(self) -> Opened:
        """Return the context of `scores`, which needs no preparation."""
        return nullcontext(self.scores)

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at the neighbour's coordinates `(b, p)`."""
        return self.probe.scores(coordinates * self.factors, rows)

    def half(self) -> Probe | None:
        """Return the probe of the same neighbour in half precision; None where the model's probe gives none.

        Raises
        ------
        CapabilityError
            If the model's probe has none.
        """
        if not isinstance(self.probe, HalfProbe):
            raise CapabilityError("this model has no half precision, expected precision='float32'")
        half = self.probe.half()
        return None if half is None else replace(self, probe=half)

    def exchanged(self, sources: Ints) -> Floats:
        """Raise the error that says why there are no answers.

        Raises
        ------
        CapabilityError
            Always: a probe exchanges the words of the text itself, at coordinates 1.
        """
        raise _without_neighbours("exchange words")

    def contributions(self, link: Link, target: int) -> Floats:
        """Raise the error that says why there are no answers.

        Raises
        ------
        CapabilityError
            Always: a probe has contributions at the text itself, at coordinates 1.
        """
        raise _without_neighbours("hand differences back through the layers (DeepLIFT)")


@dataclass(frozen=True, slots=True)
class NearbyGradientProbe(NearbyProbe):
    """The probe of a neighbour that also differentiates."""

    def gradients(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` by the neighbour's coordinates."""
        assert isinstance(self.probe, GradientProbe)
        scores, slopes = self.probe.gradients(coordinates * self.factors, rows, link, target)
        return scores, slopes * self.factors

    def gradient_norms(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> Floats:
        """Return `(b, p)`: the norm of the response's gradient by all entries of each word's vectors.

        The gradient by the vectors themselves, at the neighbour's: no factor comes into it, unlike with coordinates.
        """
        assert isinstance(self.probe, GradientProbe)
        return self.probe.gradient_norms(coordinates * self.factors, rows, link, target)


def _without_neighbours(what: str) -> CapabilityError:
    return CapabilityError(
        f"methods that {what} cannot be asked about the neighbours of a text, which max-sensitivity stretches; "
        "leave the metric or the method out"
    )
