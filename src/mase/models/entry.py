"""Whether a layer of a module can be entered: what it returned in a forward pass, checked."""

from collections.abc import Sequence
from typing import Any

import torch

from mase.errors import CapabilityError

__all__ = ["check_entry"]

# What is left for a model that cannot be entered.
_WRAP = "wrap its probabilities: mase.models.Callable(lambda texts: ..., labels=[...])"


def check_entry(layer: str, outputs: Sequence[Any], twins: Sequence[str], shape: tuple[int, int]) -> torch.Tensor:
    """Return the one output `(b, t, d)` that the layer gave in a forward pass with ids of `shape` `(b, t)`, b other than t.

    `twins` are other embeddings that ran with the layer's weights.

    Raises
    ------
    CapabilityError
        If words could not be perturbed there, or not all of what the model reads of them.
    """
    if twins:
        raise CapabilityError(
            f"the words are also embedded by {twins[0]!r}, with the weights of {layer!r}, as by an encoder and a decoder: "
            "the model would read the words as they were beside the perturbed ones, expected one layer that embeds them; "
            f"{_WRAP}"
        )
    if len(outputs) != 1:
        raise CapabilityError(
            f"layer {layer!r} ran {len(outputs)} times in one forward pass, expected once; name the layer that embeds the "
            f"tokens (TorchModule: embedding=..., HuggingFace: enter=...), or {_WRAP}"
        )
    output = outputs[0]
    if not isinstance(output, torch.Tensor):
        raise CapabilityError(
            f"layer {layer!r} returned {type(output).__name__}, expected a tensor {_expected(shape)}; {_WRAP}"
        )
    if output.ndim != 3 or tuple(output.shape[:2]) != shape:
        raise CapabilityError(
            f"layer {layer!r} returned {tuple(output.shape)}{_reason(output, shape)}, expected a tensor {_expected(shape)}; "
            f"{_WRAP}"
        )
    return output


def _expected(shape: tuple[int, int]) -> str:
    return f"({shape[0]}, {shape[1]}, d): batch first, one vector per token"


def _reason(output: torch.Tensor, shape: tuple[int, int]) -> str:
    """Return what the shape of an output says of the module."""
    if tuple(output.shape[:2]) == (shape[1], shape[0]):
        return " (time first)"
    return " (the module pads or shortens its input)" if output.ndim == 3 and len(output) == shape[0] else ""
