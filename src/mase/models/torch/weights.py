"""The weights of a module: their checksum, their pickle, and files of safetensors."""

import hashlib
import io
import json
import math
import pickle
import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from torch.serialization import default_restore_location

from mase.errors import CapabilityError, DataError
from mase.models import limits
from mase.models.limits import read_json
from mase.models.locks import alone
from mase.models.scores import check_numbers
from mase.models.torch.engine import available


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


_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_FEWEST_BITS = 4  # bits per number of the smallest data type of safetensors


@dataclass(frozen=True, slots=True)
class Stored:
    """The number of tensors in the weights of a folder, and of the numbers in them."""

    n_tensors: int
    n_numbers: int


def stored(folder: Path) -> Stored:
    """Return the size of the safetensors weights of a folder, from one file or from the files that an index names."""
    shapes = [shape for file in _files(folder) for shape in tensors(file).values()]
    if len(shapes) > limits.TENSORS:
        raise DataError(f"{folder} has {len(shapes):,} tensors, expected at most {limits.TENSORS:,}")
    return Stored(len(shapes), sum(map(math.prod, shapes)))


def tensors(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors in a safetensors file by name, from its header only."""
    try:
        header, n_bytes = _header(path)
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        shapes = {name: _shape(entry) for name, entry in entries.items()}
        described = sum(entry["data_offsets"][1] - entry["data_offsets"][0] for entry in entries.values())
    except (OSError, ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
    if described != n_bytes:
        raise DataError(
            f"cannot read the weights {path}: the header describes {described:,} bytes, expected {n_bytes:,}"
        )
    return shapes


def weight_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the safetensors files that a folder should have: those of its index, or the single file."""
    if (folder / _SINGLE).is_file() or not (folder / _INDEX).is_file():
        return (_SINGLE,)
    index = read_json(folder / _INDEX, limits.VOCABULARY_BYTES)
    file_of_tensor = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(file_of_tensor, dict) or not file_of_tensor or len(file_of_tensor) > limits.TENSORS:
        raise DataError(f"{folder / _INDEX} has no usable weight_map, expected an object from tensor to file")
    names = set(map(str, file_of_tensor.values()))
    outside = next((name for name in names if re.search(r"[/\\\x00]", name) or not name.endswith(".safetensors")), None)
    if outside is not None:
        raise DataError(
            f"{folder / _INDEX} names the file {outside!r:.80}, expected a .safetensors file in the same folder"
        )
    if len(names) > limits.SHARDS:
        raise DataError(f"{folder / _INDEX} names {len(names):,} files, expected at most {limits.SHARDS:,}")
    return tuple(sorted(names))


def _files(folder: Path) -> list[Path]:
    names = weight_files(folder)
    if names == (_SINGLE,) and not (folder / _SINGLE).is_file():
        others = sorted(
            path.name for path in folder.iterdir() if re.fullmatch(r".*\.(bin|pt|pth|pkl|h5|gguf)", path.name)
        )
        also = f" ({', '.join(others[:3])}: such files can contain code and are not read)" if others else ""
        raise DataError(
            f"{folder} has no {_SINGLE}{also}, expected weights that save_pretrained of a current version of "
            "transformers wrote"
        )
    return [folder / name for name in names]


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a safetensors file and the number of bytes after it."""
    if not path.is_file():
        raise DataError("it is not a regular file")
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise DataError(f"it has {size} bytes, expected a safetensors file")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, limits.HEADER_BYTES):
            raise DataError(
                f"its header claims {length:,} bytes, expected at most {min(size - 8, limits.HEADER_BYTES):,}; "
                "the file is damaged, or not a safetensors file"
            )
        header = json.loads(file.read(length))
    if not isinstance(header, dict) or len(header) > limits.TENSORS:
        raise DataError(f"its header is not an object, expected one of at most {limits.TENSORS:,} tensors")
    return header, size - 8 - length


def _shape(entry: Any) -> tuple[int, ...]:
    """Return the shape of a tensor, checked against the number of its bytes."""
    shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
    valid = all(type(number) is int and 0 <= number < 2**63 for number in (*shape, start, end))
    if not valid or len(shape) > limits.DIMENSIONS or (end - start) * 8 < math.prod(shape) * _FEWEST_BITS:
        raise DataError(
            f"a tensor of shape {entry['shape']!s:.60} has the data_offsets {entry['data_offsets']!s:.60}, "
            "expected a shape that fits them"
        )
    return shape


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """Return the tensors of a safetensors file."""
    tensors(path)  # checks the header against the limits
    try:
        return load_file(path)  # type: ignore[no-any-return]
    except (SafetensorError, OSError, ValueError, LookupError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
