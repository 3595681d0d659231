"""Add stored low-rank changes to the weights of a module."""

from collections.abc import Mapping

import torch
from torch import nn

from mase.errors import DataError

__all__ = ["DOWN", "UP", "is_head", "merge"]

DOWN, UP = "_down", "_up"  # suffixes of the factors (rank, d_in) and (d_out, rank) of a change


def is_head(name: str, body: str) -> bool:
    """Return whether a parameter belongs to the pooler, or lies outside the pretrained part `body`."""
    return not name.startswith(f"{body}.") or ".pooler." in f"{name}."


def merge(module: nn.Module, stored: Mapping[str, torch.Tensor], scale: float) -> None:
    """Write stored tensors into `module`, in place.

    A pair of factors changes its weight W to ``W + scale * up @ down``. Any other tensor replaces the weight.

    Raises
    ------
    DataError
        If a tensor is missing, has the wrong shape, or belongs to no weight of the module.
    """
    unpaired = [name for name in stored if name.endswith(DOWN) and f"{name.removesuffix(DOWN)}{UP}" not in stored]
    if unpaired:
        raise DataError(f"{unpaired[0]} has no matching up factor, expected one of shape (d_out, rank)")
    body = str(getattr(module, "base_model_prefix", ""))
    untrained = [name for name, _ in module.named_parameters() if body and is_head(name, body) and name not in stored]
    if untrained:
        raise DataError(
            f"the stored weights lack {untrained[0]}, expected the complete head: without it the classes are random"
        )
    weights = {name: tensor for name, tensor in module.state_dict().items() if isinstance(tensor, torch.Tensor)}
    with torch.no_grad():
        for name, tensor in stored.items():
            if name.endswith(DOWN):
                continue
            target = name.removesuffix(UP)
            if target not in weights:
                raise DataError(f"the model has no weight {target!r}, expected a model of the configured base")
            value = tensor.to(torch.float32)
            if name.endswith(UP):
                down = _down(stored, target, value)
                product_shape = (len(value), down.shape[1])
                # Check before multiplying: the product may be far larger than the factors.
                if product_shape != weights[target].shape:
                    raise DataError(
                        f"{name} and its down factor give a weight of shape {product_shape}, "
                        f"expected {tuple(weights[target].shape)}"
                    )
                value = weights[target] + scale * (value @ down.to(torch.float32))
            if value.shape != weights[target].shape:
                raise DataError(f"{name} is of shape {tuple(value.shape)}, expected {tuple(weights[target].shape)}")
            weights[target].copy_(value)


def _down(stored: Mapping[str, torch.Tensor], target: str, up: torch.Tensor) -> torch.Tensor:
    down = stored.get(f"{target}{DOWN}")
    if down is None or down.ndim != 2 or up.ndim != 2 or len(down) != up.shape[1]:
        got = "none" if down is None else f"one of shape {tuple(down.shape)}"
        raise DataError(
            f"the down factor of {target} is {got}, expected one of shape (rank, d_in) to match "
            f"its up factor of shape {tuple(up.shape)}"
        )
    return down
