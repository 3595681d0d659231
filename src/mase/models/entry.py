"""Choose the layer whose output is perturbed."""

import torch
from torch import nn

from mase.errors import CapabilityError

__all__ = ["entry_layer", "find_embedding"]

# Families whose embedding block mixes the vectors of neighbouring words. If its output were perturbed, a masked word
# would still be present in the vectors of its neighbours.
_MIXING_BLOCKS = ("mobilebert",)
# What models of transformers call their input if it is an image, a video or a sound.
_NO_TEXTS = ("pixel_values", "pixel_values_videos", "input_values", "input_features")


def find_embedding(module: nn.Module, name: str | None) -> str:
    """Return the dotted name of the layer to perturb: `name` itself, or that of the only `nn.Embedding`.

    Raises
    ------
    CapabilityError
        If there is no layer of this name, or `name` is None and there is not exactly one `nn.Embedding`, or the module
        is scripted.
    """
    if isinstance(module, torch.jit.ScriptModule):
        raise CapabilityError(
            f"the module is a {type(module).__name__} of torch.jit, in which no layer can be perturbed, expected an "
            "nn.Module in Python; pass the module before scripting, or a function from texts to class scores as "
            "mase.models.Callable"
        )
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
            f"the module has {len(embeddings)} layers of torch.nn.Embedding ({listed}), expected one; pass "
            "embedding='name.of.layer' with a layer that returns a vector per token, or wrap the probabilities: "
            "mase.models.Callable(lambda texts: ..., labels=[...])"
        )
    return str(embeddings[0])


def entry_layer(module: nn.Module, enter: str) -> str:
    """Return the dotted name of the layer of a Hugging Face model to perturb: `enter`, "block" or "words".

    Raises
    ------
    CapabilityError
        If there is no such layer, or the model reads no texts.
    """
    reads = getattr(module, "main_input_name", None)
    if reads in _NO_TEXTS:
        raise CapabilityError(
            f"{type(module).__name__} reads {reads}, expected a model that reads texts; images, videos and sounds are "
            "not explained"
        )
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
