"""Check that the output of a layer can be replaced, by what the layer returned in a forward pass."""

from collections.abc import Sequence
from typing import Any

import torch

from mase.errors import CapabilityError

__all__ = ["check_entry"]

# The remedy for a model without a suitable layer.
_WRAP = "wrap its probabilities: mase.models.Callable(lambda texts: ..., labels=[...])"


def check_entry(layer: str, outputs: Sequence[Any], twins: Sequence[str], shape: tuple[int, int]) -> torch.Tensor:
    """Return the only output `(b, t, d)` of a layer in a forward pass.

    Parameters
    ----------
    layer
        Dotted name of the layer.
    outputs
        Everything that the layer returned in one forward pass.
    twins
        Names of other embeddings that ran and share their weights with the layer.
    shape
        Shape `(b, t)` of the ids; b must differ from t.

    Raises
    ------
    CapabilityError
        If the words cannot be perturbed at this layer, or the model reads them elsewhere too.
    """
    if twins:
        raise CapabilityError(
            f"the words are also embedded by {twins[0]!r}, with the weights of {layer!r}, as in an encoder-decoder "
            "model: it would read the original words besides the perturbed ones, expected one layer that embeds them; "
            f"{_WRAP}"
        )
    if len(outputs) != 1:
        raise CapabilityError(
            f"layer {layer!r} ran {len(outputs)} times in one forward pass, expected once; name the layer that embeds "
            f"the tokens (TorchModule: embedding=..., HuggingFace: enter=...), or {_WRAP}"
        )
    output = outputs[0]
    if not isinstance(output, torch.Tensor):
        raise CapabilityError(
            f"layer {layer!r} returned {type(output).__name__}, expected a tensor {_expected(shape)}; {_WRAP}"
        )
    if output.ndim != 3 or tuple(output.shape[:2]) != shape:
        raise CapabilityError(
            f"layer {layer!r} returned {tuple(output.shape)}{_reason(output, shape)}, "
            f"expected a tensor {_expected(shape)}; {_WRAP}"
        )
    return output


def _expected(shape: tuple[int, int]) -> str:
    return f"({shape[0]}, {shape[1]}, d): batch first, one vector per token"


def _reason(output: torch.Tensor, shape: tuple[int, int]) -> str:
    """Return the probable reason for an output of the wrong shape."""
    if tuple(output.shape[:2]) == (shape[1], shape[0]):
        return " (time first)"
    return " (the module pads or shortens its input)" if output.ndim == 3 and len(output) == shape[0] else ""
