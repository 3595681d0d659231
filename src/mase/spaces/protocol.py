"""The `Space` protocol, written in array arithmetic that works for both NumPy and torch."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

__all__ = ["Noise", "Space", "across", "norms", "scaled"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Additional noise for b rows: `normal` `(b, t, d)`, `uniform` `(b, t)` and the noise level sigma."""

    normal: Any
    uniform: Any
    sigma: float


class Space(Protocol):
    """A map from coordinates to embeddings.

    Attributes
    ----------
    reference
        The input that represents absence: "zero", a token ("mask", "unk", "pad"), "delete" for black boxes, or "auto"
        for the first one that the model supports; None if the space has no reference.
    binary
        Whether coordinates are only 0 or 1.
    per_token
        Whether coordinates must be tokens. Word scores are then sums of token scores.
    noisy
        Whether rows need noise in addition to their coordinates.
    """

    per_token: ClassVar[bool]
    binary: ClassVar[bool]
    noisy: ClassVar[bool]

    @property
    def reference(self) -> str | None:
        """Name of the reference."""
        ...

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return the change `(t, d)` of each token vector per unit of its coordinate."""
        ...

    def scale(self, embeddings: Any) -> Any:
        """Return the standard deviation `(t,)` of each coordinate per unit of sigma."""
        ...

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return perturbed embeddings `(b, t, d)` for coordinates `(b, t)`; all ones give the text itself."""
        ...


def scaled(coordinates: Any, embeddings: Any, offset: Any) -> Any:
    """Return e + (c - 1) offset `(b, t, d)` for coordinates c `(b, t)`, with one temporary array."""
    vectors = (coordinates - 1)[..., None] * offset
    vectors += embeddings
    return vectors


def norms(vectors: Any) -> Any:
    """Return Euclidean norms over the last axis, which is kept with size 1."""
    return (vectors * vectors).sum(-1)[..., None] ** 0.5


def across(noise: Any, embeddings: Any) -> Any:
    """Return noise `(b, t, d)` without its component along the embeddings `(t, d)`."""
    square = (embeddings * embeddings).sum(-1)[..., None]
    square = square + (square == 0)
    return noise - (noise * embeddings).sum(-1)[..., None] / square * embeddings
