"""Borrowing a user's module: it is handed back exactly as it was found, also after an exception."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from mase.models.devices import device_of
from mase.models.locks import alone

__all__ = ["borrowed"]


@contextmanager
def borrowed(module: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Run `module` in eval mode; then restore every submodule's mode and torch's global random state.

    Gradients of parameters are never touched: derivatives are taken of the coordinates alone. Plain `no_grad` instead
    of inference mode, because a module that caches tensors on itself could not be trained on with inference tensors.
    One thread at a time borrows a module, since hooks and modes of two explanations would mix; others wait.
    """
    with alone(module), _as_found(module), torch.set_grad_enabled(gradients), _uncompiled():
        yield


def _uncompiled() -> AbstractContextManager[Any]:
    """Return a block in which compiled modules run as they are written: what was compiled does not see new hooks."""
    compiler = "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance")
    return torch.compiler.set_stance("force_eager") if compiler else nullcontext()


@contextmanager
def _as_found(module: nn.Module) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    device = device_of(module)
    state = torch.get_rng_state()
    device_state = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    try:
        for part, training in modes:
            if training:
                part.training = False
        yield
    finally:
        for part, training in modes:
            part.training = training
        torch.set_rng_state(state)
        if device_state is not None:
            torch.cuda.set_rng_state(device_state, device)
