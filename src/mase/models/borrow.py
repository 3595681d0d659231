"""Borrowing a user's module: it is handed back exactly as it was found, also after an exception."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import nn

from mase.errors import OptionError
from mase.models.turns import alone

__all__ = ["alone", "borrowed", "device_of", "moved", "multiplies_bfloat16", "out_of_memory"]

M = TypeVar("M", bound=nn.Module)


def device_of(module: nn.Module) -> torch.device:
    """Return the device of the module's first parameter or buffer; the CPU if it has none."""
    for tensor in (*module.parameters(), *module.buffers()):
        return tensor.device
    return torch.device("cpu")


def multiplies_bfloat16(device: torch.device | str) -> bool:
    """Return whether the device has instructions for bfloat16: where it has none, half precision costs more than float32."""
    device = torch.device(device)
    if device.type == "cpu":
        asked = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # missing in builds without oneDNN
        return asked is not None and bool(asked())
    if device.type == "cuda" and torch.version.hip is None:
        return torch.cuda.get_device_capability(device) >= (8, 0)
    return True


def moved(module: M, device: str | None) -> M:
    """Return `module` on the device of that name; where it is, for None.

    Raises
    ------
    OptionError
        If there is no such device here.
    """
    if device is None:
        return module
    try:
        return module.to(device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        first = str(error).strip().splitlines()[0]
        raise OptionError(f"device {device!r} cannot be used here ({first}), expected for example 'cpu'") from error


def out_of_memory(error: Exception) -> bool:
    """Return whether an exception is torch's way to say that memory ran out: a type on GPUs, words on CPUs."""
    said = ("out of memory", "not enough memory", "can't allocate memory", "Cannot allocate memory")
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in said)
    )


@contextmanager
def borrowed(module: nn.Module, *, gradients: bool = False) -> Iterator[None]:
    """Run `module` in eval mode; then restore every submodule's mode and torch's global random state.

    Gradients of parameters are never touched: derivatives are taken of the coordinates alone. Plain `no_grad` instead of
    inference mode, because a module that caches tensors on itself could not be trained on with inference tensors. One thread at
    a time borrows a module, since hooks and modes of two explanations would mix; others wait.
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
