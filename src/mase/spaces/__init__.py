"""Spaces: what a coordinate does to the input. One file per space."""

from mase.registry import Registry

__all__ = ["SPACES"]

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
