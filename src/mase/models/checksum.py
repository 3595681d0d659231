"""The checksum of the weights that were explained, updated when they are trained further."""

import hashlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from mase.errors import CapabilityError
from mase.models.locks import alone
from mase.models.outputs import check_numbers

__all__ = ["Checksum", "checksum"]


class Checksum:
    """The SHA-256 of a module's state, recomputed when a parameter or buffer was replaced or written to.

    A change is detected by torch's version counters and, for tensors that require gradients, by their sums. A write
    through `.data` of a tensor that does not require gradients is not detected.
    With state that is neither, such as the packed weights of quantized layers, it is recomputed each time.
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
        # What is no tensor has no version counter, nor has an inference tensor; one on the device meta has no sum.
        state = self._module.state_dict().values()
        counted = all(isinstance(value, torch.Tensor) for value in state)
        if not counted or any(tensor.is_inference() or tensor.is_meta for tensor in tensors):
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
    """Return the SHA-256 of a module's parameters, buffers and other state, by name.

    Weights that accelerate keeps elsewhere until a layer runs (`device_map`) are read one by one, while no other
    thread explains the module.

    Raises
    ------
    CapabilityError
        If the module has a state that cannot be pickled, or weights that are not loaded.
    """
    digest = hashlib.sha256()
    for name, value in sorted(module.state_dict().items()):
        if isinstance(value, torch.Tensor):
            digest.update(f"{name}{tuple(value.shape)}{value.dtype}".encode())
            with _present(module, name, value) as tensor:
                digest.update(_numbers(tensor))
        else:  # the packed weights of a quantized layer, or what `get_extra_state` returns
            digest.update(name.encode())
            try:
                _State(_Written(digest.update), protocol=4).dump(value)
            except Exception as error:
                raise CapabilityError(
                    f"the module has the state {name} of type {type(value).__name__}, which cannot be pickled "
                    f"({error}), expected one that torch.save can write, from which the model is known again"
                ) from error
    return digest.hexdigest()


@contextmanager
def _present(module: nn.Module, name: str, tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield a tensor of a module's state with its numbers, if there are any: also one that accelerate has offloaded."""
    accelerate = sys.modules.get("accelerate.utils")
    if accelerate is None or not tensor.is_meta:
        yield tensor
        return
    owner, _, own = name.rpartition(".")
    layer = module.get_submodule(owner)
    if not accelerate.has_offloaded_params(layer):
        yield tensor
        return
    # The layer has its weights meanwhile, and none afterwards: nobody else may run it.
    with alone(module), accelerate.align_module_device(layer, torch.device("cpu")):
        yield getattr(layer, own)


def _numbers(tensor: torch.Tensor) -> Any:
    """Return the bytes of the numbers of a tensor."""
    check_numbers(tensor)
    plain = tensor.detach().cpu()
    plain = plain.dequantize() if plain.is_quantized else plain
    return plain.reshape(-1).contiguous().view(torch.uint8).numpy().data if plain.numel() else b""


@dataclass(frozen=True, slots=True)
class _Written:
    """A file that passes on what is written."""

    write: Callable[[bytes], object]


class _State(pickle.Pickler):
    """Pickle a state with the numbers of its tensors, whose own pickles are not the same in another process."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return bytes, (f"{tuple(value.shape)}{value.dtype}".encode() + bytes(_numbers(value)),)
        return NotImplemented
