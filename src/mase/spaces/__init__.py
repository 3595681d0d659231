"""Spaces: how coordinates change the input. One file per space."""

from typing import TYPE_CHECKING

from mase.lazy import lazy_names
from mase.registry import Registry

if TYPE_CHECKING:
    from mase.spaces.protocol import Noise as Noise
    from mase.spaces.protocol import Space as Space

__all__ = ["SPACES", "Noise", "Space"]

SPACES = Registry(
    "space",
    {
        "token-scale": "mase.spaces.token_scale:TokenScale",
        "full-embedding": "mase.spaces.full_embedding:FullEmbedding",
        "relative-embedding": "mase.spaces.relative_embedding:RelativeEmbedding",
        "cone": "mase.spaces.cone:Cone",
        "token-mask": "mase.spaces.token_mask:TokenMask",
    },
    "mase.spaces",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Noise": "mase.spaces.protocol",
            "Space": "mase.spaces.protocol",
        },
    )
