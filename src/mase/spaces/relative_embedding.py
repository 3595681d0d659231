"""Gaussian noise on all t x d entries of the embedding, relative to their range: the space of SmoothGrad."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.spaces.protocol import Noise, across, norms, scaled

__all__ = ["RelativeEmbedding"]


@dataclass(frozen=True, slots=True)
class RelativeEmbedding:
    """e_i + Z_i with Z_i ~ N(0, (sigma R)^2 I_d), where R is the range of all entries of the text's embedding.

    Smilkov et al. (2017) give the noise level of SmoothGrad as a share of the range, 10 % to 20 %, so that it suits all
    models. As in `FullEmbedding`, the coordinate is the component of Z_i along e_i, and the derivative with respect to
    it is <e_i, df/de_i> at the noisy text.
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
        """Return R / |e_i| `(t,)`."""
        length = norms(embeddings)[..., 0]
        return _range(embeddings) * (length != 0) / (length + (length == 0))

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e + (c - 1) e + sigma R (noise across e), `(b, t, d)`."""
        assert noise is not None
        spread = noise.sigma * _range(embeddings)
        return scaled(coordinates, embeddings, offset) + spread * across(noise.normal, embeddings)


def _range(embeddings: Any) -> Any:
    return embeddings.max() - embeddings.min()
