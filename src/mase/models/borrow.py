"""Run a user's module and restore its state afterwards, also after an exception."""

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

    The gradients of parameters never change, because only derivatives with respect to coordinates are computed. The
    block uses `no_grad` and not inference mode: a module that caches tensors on itself could not be trained any more
    with inference tensors. The module is locked for this thread, so that two explanations do not mix their hooks and
    modes.
    """
    with alone(module), _as_found(module), torch.set_grad_enabled(gradients), _uncompiled():
        yield


def _uncompiled() -> AbstractContextManager[Any]:
    """Return a context in which compiled modules run uncompiled, because compiled code ignores new hooks."""
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
