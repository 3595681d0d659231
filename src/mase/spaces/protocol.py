"""What a space has to say, in plain array arithmetic that NumPy and torch share."""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

__all__ = ["Noise", "Space", "across", "norms", "scaled"]


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise for b rows besides the coordinates: `normal` (b, t, d), `uniform` (b, t) and the noise level sigma."""

    normal: Any
    uniform: Any
    sigma: float


class Space(Protocol):
    """From coordinates to embeddings.

    Attributes
    ----------
    reference
        The input that stands for absence: "zero", a token ("mask", "unk", "pad"), "delete" for black boxes, or "auto":
        the first that the model has; None where the space has none.
    binary
        Whether coordinates are 0 or 1 only.
    per_token
        Whether coordinates must be tokens (word scores are then their sums).
    noisy
        Whether rows need noise besides their coordinates.
    """

    per_token: ClassVar[bool]
    binary: ClassVar[bool]
    noisy: ClassVar[bool]

    @property
    def reference(self) -> str | None:
        """Name of the reference."""
        ...

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return `(t, d)`: how far one unit of its coordinate moves each token."""
        ...

    def scale(self, embeddings: Any) -> Any:
        """Return `(t,)`: the standard deviation of each coordinate per unit of sigma."""
        ...

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return perturbed embeddings `(b, t, d)` for coordinates `(b, t)`, 1 being the text itself."""
        ...


def scaled(coordinates: Any, embeddings: Any, offset: Any) -> Any:
    """Return e + (c - 1) offset `(b, t, d)` for coordinates c `(b, t)`, in one temporary array."""
    moved = (coordinates - 1)[..., None] * offset
    moved += embeddings
    return moved


def norms(vectors: Any) -> Any:
    """Return Euclidean norms over the last axis, which is kept with length 1."""
    return (vectors * vectors).sum(-1)[..., None] ** 0.5


def across(noise: Any, embeddings: Any) -> Any:
    """Return noise `(b, t, d)` without its component along the embeddings `(t, d)`."""
    square = (embeddings * embeddings).sum(-1)[..., None]
    square = square + (square == 0)
    return noise - (noise * embeddings).sum(-1)[..., None] / square * embeddings
