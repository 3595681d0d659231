"""Spaces: how coordinates change the input. One file per space."""

from typing import TYPE_CHECKING

from mase.registry import Registry, lazy_names

if TYPE_CHECKING:
    from mase.spaces.kinds import Noise as Noise
    from mase.spaces.kinds import Space as Space

__all__ = ["SPACES", "Noise", "Space"]

SPACES = Registry(
    "space",
    {
        "token-scale": "mase.spaces.kinds:TokenScale",
        "full-embedding": "mase.spaces.kinds:FullEmbedding",
        "relative-embedding": "mase.spaces.kinds:RelativeEmbedding",
        "cone": "mase.spaces.kinds:Cone",
        "token-mask": "mase.spaces.kinds:TokenMask",
    },
    "mase.spaces",
)

# Imported on first use, because they load NumPy.
if not TYPE_CHECKING:  # or else checkers would know every name, misspelt ones too
    __getattr__, __dir__ = lazy_names(
        __name__,
        __all__,
        {
            "Noise": "mase.spaces.kinds",
            "Space": "mase.spaces.kinds",
        },
    )
