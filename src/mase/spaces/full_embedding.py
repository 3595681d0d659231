"""Gaussian noise on all t x d entries of the embedding, with which the paper compares NLGP."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.spaces.protocol import Noise, across, norms, scaled

__all__ = ["FullEmbedding"]


@dataclass(frozen=True, slots=True)
class FullEmbedding:
    """e_i + Z_i with Z_i ~ N(0, sigma^2 I_d): Theorem 1 on vec Z, reduced to one score <gamma_i, e_i> per token.

    Notes
    -----
    Z_i has a component along e_i and an independent component orthogonal to e_i. Let the coordinate be
    u_i = <Z_i, e_i> / |e_i|^2, whose variance is sigma^2 / |e_i|^2. Theorem 1 then gives
    Var(u_i)^-1 E[d u_i] = E[d <Z_i, e_i>] / sigma^2, which is <gamma_i, e_i>. So t coordinates suffice, and no t x d
    matrix of samples needs to be stored.
    """

    reference = None
    per_token: ClassVar[bool] = True
    binary: ClassVar[bool] = False
    noisy: ClassVar[bool] = True

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e `(t, d)`."""
        del reference
        return embeddings

    def scale(self, embeddings: Any) -> Any:
        """Return 1 / |e_i| `(t,)`."""
        length = norms(embeddings)[..., 0]
        return (length != 0) / (length + (length == 0))

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) e + sigma (noise across e), `(b, t, d)`."""
        assert noise is not None
        return scaled(coordinates, embeddings, offset) + noise.sigma * across(noise.normal, embeddings)
