"""Low-rank adapters of a pretrained encoder: its trained parameters and the stored tensors."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from mase.errors import OptionError
from mase.models.bundled.bert import DOWN, UP, is_head

__all__ = ["Adapter", "attach", "changes", "trainable"]


class Adapter(nn.Module):
    """A frozen linear layer plus a low-rank change of its weights: ``W x + b + scale * up @ down @ x``.

    Parameters
    ----------
    linear
        The layer; its own weights are left as they are.
    rank
        Rows of `down` `(rank, d_in)` and columns of `up` `(d_out, rank)`.
    scale
        Factor of the change.

    Notes
    -----
    The low-rank adapters of Hu et al. (LoRA, ICLR 2022): `down` starts random, `up` at zero, so that training starts at
    the pretrained model.
    """

    def __init__(self, linear: nn.Linear, rank: int, scale: float) -> None:
        super().__init__()
        self.linear = linear
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, linear.in_features))
        self.up = nn.Parameter(torch.zeros(linear.out_features, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return outputs `(..., d_out)` for inputs `(..., d_in)`."""
        outputs: torch.Tensor = _Adapted.apply(  # type: ignore[no-untyped-call]
            inputs, self.linear.weight, self.linear.bias, self.up, self.down, self.scale
        )
        return outputs


class _Adapted(torch.autograd.Function):
    """The adapted layer as one product with the merged weight, forward and backward; gradients for the factors alone.

    Written by hand because the usual form, a second and a third product beside the layer's own, takes a fifth more time
    on a CPU, and letting autograd differentiate the merged weight would compute its whole gradient `(d_out, d_in)`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        up: torch.Tensor,
        down: torch.Tensor,
        scale: float,
    ) -> torch.Tensor:
        merged = torch.addmm(weight, up, down, alpha=scale)
        ctx.save_for_backward(inputs, merged, up, down)
        ctx.scale = scale
        return nn.functional.linear(inputs, merged, bias)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        inputs, merged, up, down = ctx.saved_tensors
        rows, outer = inputs.reshape(-1, inputs.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
        for_inputs = gradient @ merged if ctx.needs_input_grad[0] else None
        for_up = ctx.scale * (outer.T @ (rows @ down.T))
        for_down = ctx.scale * ((outer @ up).T @ rows)
        return for_inputs, None, None, for_up, for_down, None


def attach(module: nn.Module, body: str, rank: int, scale: float) -> None:
    """Put an adapter on every linear layer of the encoder, in place, and freeze all other weights.

    Trained are the adapters, the LayerNorms of the encoder, the pooler and everything outside `body`, the pretrained
    part (so: the head). The embedding block and the pretrained weights are frozen.
    """
    module.requires_grad_(requires_grad=False)
    places = [(name, layer) for name, layer in module.named_modules() if isinstance(layer, nn.Linear)]
    adapted = [(name, layer) for name, layer in places if _in_encoder(name, body)]
    if not adapted:
        raise OptionError(f"{type(module).__name__} has no linear layer in its encoder, expected a transformer encoder")
    for name, layer in adapted:
        parent, _, child = name.rpartition(".")
        setattr(module.get_submodule(parent), child, Adapter(layer, rank, scale))
    for name, layer in module.named_modules():
        if isinstance(layer, nn.LayerNorm) and _in_encoder(name, body):
            layer.requires_grad_(requires_grad=True)
    for name, parameter in module.named_parameters():
        if is_head(name, body):
            parameter.requires_grad = True


def trainable(module: nn.Module) -> dict[str, nn.Parameter]:
    """Return the parameters that are trained, by name."""
    return {name: parameter for name, parameter in module.named_parameters() if parameter.requires_grad}


def changes(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return the trained tensors as stored, in float16; factors are named after the weights that they change."""
    return {_stored_name(name): tensor.detach().to(torch.float16).contiguous() for name, tensor in state.items()}


def _stored_name(name: str) -> str:
    for factor, suffix in ((".down", DOWN), (".up", UP)):
        if name.endswith(factor):
            return f"{name.removesuffix(factor)}.weight{suffix}"
    return name


def _in_encoder(name: str, body: str) -> bool:
    return not is_head(name, body) and ".embeddings." not in name
