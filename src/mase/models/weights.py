"""Read the headers of safetensors files, to know the stored tensors before anything is built.

This module imports no framework.
"""

import json
import math
import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase.errors import DataError
from mase.models import limits
from mase.models.document import read_json

__all__ = ["Stored", "stored", "tensors", "weight_files"]

_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_FEWEST_BITS = 4  # bits per number of the smallest data type of safetensors


@dataclass(frozen=True, slots=True)
class Stored:
    """The number of tensors in the weights of a folder, and of the numbers in them."""

    n_tensors: int
    n_numbers: int


def stored(folder: Path) -> Stored:
    """Return the size of the safetensors weights of a folder, from one file or from the files that an index names.

    Raises
    ------
    DataError
        If there are none, a header is damaged or beyond the limits, or the index names a file outside the folder.
    """
    shapes = [shape for file in _files(folder) for shape in tensors(file).values()]
    if len(shapes) > limits.TENSORS:
        raise DataError(f"{folder} has {len(shapes):,} tensors, expected at most {limits.TENSORS:,}")
    return Stored(len(shapes), sum(map(math.prod, shapes)))


def tensors(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors in a safetensors file by name, from its header only.

    Raises
    ------
    DataError
        If the header is damaged, is beyond the limits, or does not fit the data in the file.
    """
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
    """Return the names of the safetensors files that a folder should have: those of its index, or the single file.

    Raises
    ------
    DataError
        If the index cannot be read, is beyond the limits, or names a file outside the folder.
    """
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
