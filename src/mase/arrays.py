"""Types of arrays, and checks of their shapes and numbers."""

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mase.errors import NonFiniteError, ShapeError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Number = TypeVar("Number", np.float64, np.int64)


def as_floats(value: Any, shape: tuple[int | None, ...], name: str) -> Floats:
    """Return `value` as a finite float64 array of `shape` (None matches any length)."""
    array = np.asarray(value, dtype=np.float64)
    matches = array.ndim == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, array.shape, strict=True)
    )
    if not matches:
        lengths = ", ".join("any" if expected is None else str(expected) for expected in shape)
        raise ShapeError(f"{name} has shape {array.shape}, expected ({lengths})")
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        raise NonFiniteError(f"{name} has a value that is not finite at index {index}, expected finite numbers only")
    return array


def frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Return a read-only view of `array`, for results that callers must not modify."""
    view = array.view()
    view.flags.writeable = False
    return view


def equal_fields(self: Any, other: Any) -> bool:
    """Return whether two values of one dataclass have equal fields: its ``__eq__`` if some of them are arrays.

    Arrays are equal if their shapes and all entries are, and NaN equals NaN.
    """
    if type(other) is not type(self):
        return NotImplemented  # type: ignore[no-any-return]  # as every __eq__ does
    return all(_equal(getattr(self, each.name), getattr(other, each.name)) for each in fields(self) if each.compare)


def _equal(own: Any, other: Any) -> bool:
    if isinstance(own, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(own, other, equal_nan=np.asarray(own).dtype.kind == "f")
    if isinstance(own, tuple) and isinstance(other, tuple):
        return len(own) == len(other) and all(map(_equal, own, other))
    return own is other or bool(own == other)
