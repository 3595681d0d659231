"""Low-rank changes added to the weights they belong to: the module that comes out is a plain one."""

from collections.abc import Mapping

import torch
from torch import nn

from mase.errors import DataError

__all__ = ["DOWN", "UP", "is_head", "merge"]

DOWN, UP = "_down", "_up"  # suffixes of the factors (rank, d_in) and (d_out, rank) of the change of a weight


def is_head(name: str, body: str) -> bool:
    """Return whether a parameter belongs to the pooler or to what comes after the pretrained part, `body`."""
    return not name.startswith(f"{body}.") or ".pooler." in f"{name}."


def merge(module: nn.Module, stored: Mapping[str, torch.Tensor], scale: float) -> None:
    """Write stored tensors into `module`, in place: ``W + scale * up @ down`` for factors, the tensor itself for others.

    Raises
    ------
    DataError
        If a tensor is missing, of another shape than its place, or has no place.
    """
    alone = [name for name in stored if name.endswith(DOWN) and f"{name.removesuffix(DOWN)}{UP}" not in stored]
    if alone:
        raise DataError(f"{alone[0]} has no up factor beside it, expected (d_out, rank)")
    body = str(getattr(module, "base_model_prefix", ""))
    drawn = [name for name, _ in module.named_parameters() if body and is_head(name, body) and name not in stored]
    if drawn:
        raise DataError(
            f"there is no {drawn[0]} among the stored weights, expected the whole head: it would answer at random"
        )
    own = {name: tensor for name, tensor in module.state_dict().items() if isinstance(tensor, torch.Tensor)}
    with torch.no_grad():
        for name, tensor in stored.items():
            if name.endswith(DOWN):
                continue
            target = name.removesuffix(UP)
            if target not in own:
                raise DataError(f"the model has no weight {target!r}, expected a model of the configured base")
            value = tensor.to(torch.float32)
            if name.endswith(UP):
                down = _down(stored, target, value)
                if (len(value), down.shape[1]) != own[
                    target
                ].shape:  # before a product that may be far larger than the factors
                    got = (len(value), down.shape[1])
                    raise DataError(f"{name} and its down factor make {got}, expected {tuple(own[target].shape)}")
                value = own[target] + scale * (value @ down.to(torch.float32))
            if value.shape != own[target].shape:
                raise DataError(f"{name} is of shape {tuple(value.shape)}, expected {tuple(own[target].shape)}")
            own[target].copy_(value)


def _down(stored: Mapping[str, torch.Tensor], target: str, up: torch.Tensor) -> torch.Tensor:
    down = stored.get(f"{target}{DOWN}")
    if down is None or down.ndim != 2 or up.ndim != 2 or len(down) != up.shape[1]:
        got = "none" if down is None else f"one of shape {tuple(down.shape)}"
        raise DataError(f"{target}: got {got} beside an up factor of shape {tuple(up.shape)}, expected (rank, d_in)")
    return down
