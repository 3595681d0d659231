"""Borrowing a user's module: it is handed back exactly as it was found, also after an exception."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

__all__ = ["borrowed", "device_of"]


def device_of(module: nn.Module) -> torch.device:
    """Return the device of the module's first parameter or buffer; the CPU if it has none."""
    for tensor in (*module.parameters(), *module.buffers()):
        return tensor.device
    return torch.device("cpu")


@contextmanager
def borrowed(module: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Run `module` in eval mode; then restore every submodule's mode and the global random state.

    Gradients of parameters are never touched: derivatives are taken of the coordinates alone. Plain `no_grad` instead of
    inference mode, because a module that caches tensors on itself could not be trained on with inference tensors.

    Raises
    ------
    MemoryError
        In place of the framework's own out-of-memory error, so that the caller can halve its batch.
    """
    modes = [(part, part.training) for part in module.modules()]
    device = device_of(module)
    state = torch.get_rng_state()
    device_state = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    try:
        for part, training in modes:
            if training:
                part.training = False
        with torch.set_grad_enabled(gradients):
            yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "not enough memory" in str(error) or "out of memory" in str(error):
            raise MemoryError(str(error)) from error
        raise
    finally:
        for part, training in modes:
            part.training = training
        torch.set_rng_state(state)
        if device_state is not None:
            torch.cuda.set_rng_state(device_state, device)
