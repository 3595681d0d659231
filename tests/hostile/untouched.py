"""All that a user could notice of a model, taken before and after."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["differences", "state_of"]

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_state_dict_hooks")


def state_of(module: nn.Module) -> Mapping[str, Any]:
    """Return modes, weights, gradients, hooks, attributes, random states and global switches, by name."""
    found: dict[str, Any] = {
        "torch rng": torch.get_rng_state().clone(), "python rng": random.getstate(),
        "numpy rng": repr(np.random.get_state()),  # noqa: NPY002  (the global one, which users seed)
        "grad mode": torch.is_grad_enabled(), "inference mode": torch.is_inference_mode_enabled(),
        "default dtype": torch.get_default_dtype(), "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }  # fmt: skip
    for name, part in module.named_modules():
        found[f"mode of {name}"] = part.training
        found[f"attributes of {name}"] = sorted(vars(part))
        found[f"class of {name}"] = (type(part), vars(part).get("forward"))
        found |= {f"{hooks} of {name}": tuple(getattr(part, hooks)) for hooks in _HOOKS}
    return found | dict(_tensors(module))


def _tensors(module: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in [*module.named_parameters(), *module.named_buffers()]:
        yield f"place of {name}", (value.data_ptr(), value.dtype, value.device, tuple(value.shape))
        yield f"asks gradient: {name}", value.requires_grad
        yield f"value of {name}", value.detach().clone()
        yield f"gradient of {name}", None if value.grad is None else value.grad.clone()
        yield f"hooks of {name}", tuple(value._backward_hooks or ())


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> str | None:
    """Return what is different, None if nothing is."""
    changed = [name for name in before | after if not _same(before.get(name), after.get(name))]
    return f"changed: {', '.join(changed[:6])}" if changed else None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return torch.equal(a, b)
    return bool(a == b)
