"""A model whose texts lie a little beside the real ones: each word's coordinate is stretched by its own factor."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import CapabilityError
from mase.links import Link, Output
from mase.models.protocol import Binding, GradientProbe, Model, Probe
from mase.text import Tokens

__all__ = ["Nearby"]


@dataclass(frozen=True, slots=True)
class Nearby:
    """A model that reads, in place of word i's embedding e_i, r_i + factors[i] (e_i - r_i), r being the space's reference.

    Explaining it explains the real model at a neighbouring point of embedding space: coordinate c of the neighbour is
    coordinate factors * c of the text. For one text: there are as many factors `(w,)` as it has words.
    """

    model: Model
    factors: Floats

    @property
    def name(self) -> str:
        """Name."""
        return self.model.name

    @property
    def has_embeddings(self) -> bool:
        """Whether coordinates may take any value."""
        return self.model.has_embeddings

    @property
    def references(self) -> tuple[str, ...]:
        """Names of the references."""
        return self.model.references

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k classes."""
        return self.model.labels

    @property
    def sha256(self) -> str | None:
        """Checksum of the weights."""
        return self.model.sha256

    def encode(self, text: str) -> Tokens:
        """Return the tokens that the model reads."""
        return self.model.encode(text)

    def predict(self, texts: Sequence[str]) -> np.ndarray:
        """Return class probabilities `(n, k)` of the real texts."""
        return self.model.predict(texts)

    def bind(self, binding: Binding) -> Probe:
        """Return the probe of the neighbour of one text.

        Raises
        ------
        CapabilityError
            If the model has no embeddings, or coordinates are not words.
        """
        if not self.model.has_embeddings:
            raise CapabilityError(f"{self.model.name} reads strings only, which have no neighbours; expected embeddings")
        if binding.n_coordinates != len(self.factors):
            raise CapabilityError(
                f"the method has {binding.n_coordinates} coordinates, expected {len(self.factors)}: one per word"
            )
        probe = self.model.bind(binding)
        return (
            NearbyGradientProbe(probe, self.factors) if isinstance(probe, GradientProbe) else NearbyProbe(probe, self.factors)
        )


@dataclass(frozen=True, slots=True)
class NearbyProbe:
    """The probe of a neighbour. See `mase.models.protocol.Probe`."""

    probe: Probe
    factors: Floats

    @property
    def output(self) -> Output:
        """What the columns of the scores are."""
        return self.probe.output

    @property
    def widths(self) -> Floats:
        """Standard deviations per unit of sigma `(p,)`."""
        return self.probe.widths

    @property
    def start(self) -> Floats:
        """Scores of the neighbour itself `(1, k)`."""
        return self.probe.scores(self.factors[None, :], np.zeros(1, dtype=np.int64))

    @property
    def n_setup(self) -> int:
        """Number of evaluations for binding."""
        return self.probe.n_setup + 1

    @property
    def batch_size(self) -> int:
        """Rows at once."""
        return self.probe.batch_size

    def scores(self, coordinates: Floats, rows: Ints) -> Floats:
        """Return scores `(b, k)` at the neighbour's coordinates `(b, p)`."""
        return self.probe.scores(coordinates * self.factors, rows)


@dataclass(frozen=True, slots=True)
class NearbyGradientProbe(NearbyProbe):
    """The probe of a neighbour that also differentiates."""

    def gradients(self, coordinates: Floats, rows: Ints, link: Link, target: int) -> tuple[Floats, Floats]:
        """Return scores `(b, k)` and derivatives `(b, p)` by the neighbour's coordinates."""
        assert isinstance(self.probe, GradientProbe)
        scores, slopes = self.probe.gradients(coordinates * self.factors, rows, link, target)
        return scores, slopes * self.factors
