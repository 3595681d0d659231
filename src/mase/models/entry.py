"""Choose the layer whose output is perturbed, and check what it returned in a forward pass."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError

__all__ = ["check_entry", "entry_layer", "find_embedding"]

# The remedy for a model without a suitable layer.
_WRAP = "wrap its probabilities: mase.models.Callable(lambda texts: ..., labels=[...])"
# Families whose embedding block mixes the vectors of neighbouring words. If its output were perturbed, a masked word
# would still be present in the vectors of its neighbours.
_MIXING_BLOCKS = ("mobilebert",)


def find_embedding(module: nn.Module, name: str | None) -> str:
    """Return the dotted name of the layer to perturb: `name` itself, or that of the only `nn.Embedding`.

    Raises
    ------
    CapabilityError
        If there is no layer of this name, or `name` is None and there is not exactly one `nn.Embedding`.
    """
    layers = dict(module.named_modules())
    if name is not None:
        if name not in layers:
            raise CapabilityError(
                f"the module has no layer {name!r}, expected one of: {', '.join(n for n in layers if n)}"
            )
        return name
    embeddings = [n for n, layer in layers.items() if isinstance(layer, nn.Embedding)]
    if len(embeddings) != 1:
        listed = ", ".join(embeddings) if embeddings else "none"
        raise CapabilityError(
            f"the module has {len(embeddings)} embedding layers ({listed}), expected one; "
            "pass embedding='name.of.layer'"
        )
    return str(embeddings[0])


def entry_layer(module: nn.Module, enter: str) -> str:
    """Return the dotted name of the layer of a Hugging Face model to perturb: `enter`, "block" or "words".

    Raises
    ------
    CapabilityError
        If there is no such layer.
    """
    if enter not in ("block", "words"):
        return find_embedding(module, enter)
    try:
        words = module.get_input_embeddings()  # type: ignore[operator]
    except NotImplementedError as error:
        raise CapabilityError(
            f"{type(module).__name__} has no table of word vectors (perhaps it reads characters), expected one to "
            "perturb; wrap the model in mase.models.Callable"
        ) from error
    names = {layer: name for name, layer in module.named_modules()}
    name: str = names[words]
    parent = name.rpartition(".")[0]
    mixing = getattr(module.config, "model_type", "") in _MIXING_BLOCKS
    is_block = parent.rpartition(".")[2] in ("embeddings", "embedding") and not mixing
    normed = f"{name}_layernorm"  # of Bloom: this layer would undo a scale of its input
    if enter == "block" and normed in names.values():
        return normed
    return parent if enter == "block" and is_block else name


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
