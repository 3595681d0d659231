"""The checksum of the weights that were explained, updated when they are trained further."""

import hashlib

import torch
from torch import nn

__all__ = ["Checksum", "checksum"]


class Checksum:
    """The SHA-256 of a module's parameters and buffers, recomputed when a tensor was replaced or written to.

    A change is detected by torch's version counters and, for tensors that require gradients, by their sums. A write
    through `.data` of a tensor that does not require gradients is not detected.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._seen: tuple[tuple[int, int, float], ...] | None = None
        self._value = ""

    def versions(self) -> tuple[tuple[int, int], ...]:
        """Return the address of each tensor and the number of writes to it, which cost no reading of the weights."""
        tensors = (*self._module.parameters(), *self._module.buffers())
        return tuple((tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version) for tensor in tensors)

    def value(self) -> str:
        """Return the checksum of the weights as they are now."""
        tensors = (*self._module.parameters(), *self._module.buffers())
        if any(tensor.is_inference() for tensor in tensors):  # inference tensors have no version counter
            return checksum(self._module)
        # Fused optimizers do not increase the version counter, so the sums of trained tensors are compared too.
        seen = tuple(
            (tensor.data_ptr(), tensor._version, float(tensor.detach().sum()) if tensor.requires_grad else 0.0)
            for tensor in tensors
        )
        if seen != self._seen:
            self._seen, self._value = seen, checksum(self._module)
        return self._value


def checksum(module: nn.Module) -> str:
    """Return the SHA-256 of a module's parameters and buffers, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(module.state_dict().items()):
        if isinstance(tensor, torch.Tensor):
            digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
            digest.update(
                tensor.detach().cpu().reshape(-1).contiguous().view(torch.uint8).numpy().data if tensor.numel() else b""
            )
    return digest.hexdigest()
