"""Build a model on the meta device, to check its size against the stored weights before it takes memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks

from mase.errors import DataError
from mase.models import limits
from mase.models.weights import Stored

__all__ = ["metered"]

_BYTES = 4  # bytes per number: all weights are loaded as float32


@contextmanager
def metered(stored: Stored, place: str) -> Iterator[None]:
    """Build the modules of the block on the meta device, and stop when they are too large for the stored weights.

    Raises
    ------
    DataError
        If the modules, or the numbers in them, are too many for weights of this size.
    """
    most_numbers = limits.NUMBERS_TIMES * stored.n_numbers + limits.NUMBERS_SPARE
    most_modules = limits.MODULES_TIMES * stored.n_tensors + limits.MODULES_SPARE
    here, seen, count = threading.get_ident(), {}, [0, 0]

    def add(index: int, amount: float, most: int, what: str) -> None:
        count[index] += int(amount)
        if count[index] > most:
            raise DataError(
                f"{place} describes a model of more than {most:,} {what}, expected one that fits the stored weights: "
                f"{stored.n_tensors:,} tensors with {stored.n_numbers:,} numbers"
            )

    def tensor(_module: nn.Module, _name: str, value: torch.Tensor | None) -> None:
        if value is not None and threading.get_ident() == here and id(value) not in seen:
            seen[id(value)] = value  # a reference keeps the tensor alive, so that its id stays unique
            size = 1 if isinstance(value, nn.Parameter) else value.element_size() / _BYTES
            add(0, value.nelement() * size, most_numbers, "numbers")

    def child(_module: nn.Module, _name: str, _value: Any) -> None:
        if threading.get_ident() == here:
            add(1, 1, most_modules, "modules")

    handles = [
        hooks.register_module_parameter_registration_hook(tensor),
        hooks.register_module_buffer_registration_hook(tensor),
        hooks.register_module_module_registration_hook(child),
    ]
    try:
        with torch.device("meta"):
            yield
    finally:
        for handle in handles:
            handle.remove()
