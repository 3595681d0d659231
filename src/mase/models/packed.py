"""Pickle a value that holds torch modules: by `torch.save`, which also restores their devices and shared weights."""

import io
import pickle
from typing import Any

import torch
from torch.serialization import default_restore_location

from mase.models.devices import available

__all__ = ["Packed", "unpacked"]


class Packed:
    """A value whose tensors are written as on the CPU, and restored on their device or, without it, on another one.

    Attributes
    ----------
    value
        The value.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return unpacked, (self.content(pickle),)

    def content(self, pickle_module: Any) -> bytes:
        """Return the value as bytes; `pickle_module.Pickler` writes everything except the tensors."""
        buffer = io.BytesIO()
        torch.save(self.value, buffer, pickle_module=pickle_module)
        return buffer.getvalue()


def unpacked(content: bytes) -> Packed:
    """Return the value that `Packed.content` wrote. Like `pickle.loads`, this may run code."""
    return Packed(torch.load(io.BytesIO(content), map_location=_restored, weights_only=False))


def _restored(storage: Any, location: str) -> Any:
    return default_restore_location(storage, available(location))  # type: ignore[no-untyped-call]
