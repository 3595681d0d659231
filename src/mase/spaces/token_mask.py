"""Words are kept or masked: the space of LIME, SHAP and occlusion, and of every black box."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mase.spaces.protocol import Noise, scaled

__all__ = ["TokenMask"]


@dataclass(frozen=True, slots=True)
class TokenMask:
    """c_i = 1 keeps a word, c_i = 0 replaces it by the reference ("mask", "unk", "pad"; "delete" for a black box)."""

    reference: str = "auto"
    per_token: ClassVar[bool] = False
    binary: ClassVar[bool] = True
    noisy: ClassVar[bool] = False

    def offset(self, embeddings: Any, reference: Any) -> Any:
        """Return e - r `(t, d)`."""
        return embeddings - reference

    def scale(self, embeddings: Any) -> Any:
        """Return ones `(t,)`."""
        return embeddings[:, 0] * 0 + 1

    def apply(self, coordinates: Any, embeddings: Any, offset: Any, noise: Noise | None) -> Any:
        """Return e where c = 1 and r where c = 0, `(b, t, d)`."""
        del noise
        return scaled(coordinates, embeddings, offset)
