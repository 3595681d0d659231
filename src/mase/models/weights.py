"""Safetensors files by their headers: what is stored, before anything is read or built. No framework."""

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

_WHOLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_FEWEST_BITS = 4  # of a number in any of the types that safetensors knows


@dataclass(frozen=True, slots=True)
class Stored:
    """What the weights of a folder hold: how many tensors and how many numbers in all of them."""

    n_tensors: int
    n_numbers: int


def stored(folder: Path) -> Stored:
    """Return what the safetensors weights of a folder hold, in one file or in those that an index names.

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
    """Return the shapes of the tensors in a safetensors file, by name, from its header alone.

    Raises
    ------
    DataError
        If the header is damaged, beyond the limits, or describes other data than the file has.
    """
    try:
        header, n_bytes = _header(path)
        found = {name: entry for name, entry in header.items() if name != "__metadata__"}
        shapes = {name: _shape(entry) for name, entry in found.items()}
        described = sum(entry["data_offsets"][1] - entry["data_offsets"][0] for entry in found.values())
    except (OSError, ValueError, TypeError, LookupError, RecursionError, AttributeError) as error:
        raise DataError(f"cannot read the weights {path}: {error}") from error
    if described != n_bytes:
        raise DataError(
            f"cannot read the weights {path}: the header describes {described:,} bytes, expected {n_bytes:,}"
        )
    return shapes


def weight_files(folder: Path) -> tuple[str, ...]:
    """Return the names of the safetensors files that a folder has, or should have: those of its index, or the one.

    Raises
    ------
    DataError
        If the index cannot be read, is beyond the limits, or names a file outside the folder.
    """
    if (folder / _WHOLE).is_file() or not (folder / _INDEX).is_file():
        return (_WHOLE,)
    index = read_json(folder / _INDEX, limits.VOCABULARY_BYTES)
    places = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(places, dict) or not places or len(places) > limits.TENSORS:
        raise DataError(f"{folder / _INDEX} has no weight_map, expected an object from tensor to file")
    names = set(map(str, places.values()))
    outside = next((name for name in names if re.search(r"[/\\\x00]", name) or not name.endswith(".safetensors")), None)
    if outside is not None:
        raise DataError(
            f"{folder / _INDEX} names the file {outside!r:.80}, expected the name of a .safetensors file beside it"
        )
    if len(names) > limits.SHARDS:
        raise DataError(f"{folder / _INDEX} names {len(names):,} files, expected at most {limits.SHARDS:,}")
    return tuple(sorted(names))


def _files(folder: Path) -> list[Path]:
    names = weight_files(folder)
    if names == (_WHOLE,) and not (folder / _WHOLE).is_file():
        others = sorted(
            path.name for path in folder.iterdir() if re.fullmatch(r".*\.(bin|pt|pth|pkl|h5|gguf)", path.name)
        )
        also = f" (of {', '.join(others[:3])} nothing is read: such files can hold code)" if others else ""
        raise DataError(
            f"{folder} has no {_WHOLE}{also}, expected weights saved with save_pretrained by a current version of transformers"
        )
    return [folder / name for name in names]


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """Return the header of a file and the number of bytes after it."""
    if not path.is_file():
        raise DataError("it is no regular file")
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        if len(start) < 8:
            raise DataError(f"it has {size} bytes, expected a safetensors file")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, limits.HEADER_BYTES):
            raise DataError(
                f"its header is said to have {length:,} bytes, expected at most {min(size - 8, limits.HEADER_BYTES):,}; "
                "it is damaged, or no safetensors file"
            )
        header = json.loads(file.read(length))
    if not isinstance(header, dict) or len(header) > limits.TENSORS:
        raise DataError(f"its header is no object of at most {limits.TENSORS:,} tensors")
    return header, size - 8 - length


def _shape(entry: Any) -> tuple[int, ...]:
    """Return the shape of one tensor; its data must have a place for so many numbers."""
    shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
    whole = all(type(number) is int and 0 <= number < 2**63 for number in (*shape, start, end))
    if not whole or len(shape) > limits.DIMENSIONS or (end - start) * 8 < math.prod(shape) * _FEWEST_BITS:
        raise DataError(f"a tensor of shape {entry['shape']!s:.60} has the place {entry['data_offsets']!s:.60}")
    return shape
