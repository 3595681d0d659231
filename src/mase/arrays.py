"""Checked float64 arrays: the one place where shapes and finiteness are verified."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mase.errors import NonFiniteError, ShapeError

__all__ = ["Bools", "Floats", "Ints", "as_floats", "frozen"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

Number = TypeVar("Number", np.float64, np.int64)


def as_floats(value: Any, shape: tuple[int | None, ...], name: str) -> Floats:
    """Return `value` as a finite float64 array of `shape` (None matches any length).

    Raises
    ------
    ShapeError
        If the array has another shape.
    NonFiniteError
        If an entry is NaN or infinite.
    """
    array = np.asarray(value, dtype=np.float64)
    matches = array.ndim == len(shape) and all(
        want in (None, got) for want, got in zip(shape, array.shape, strict=True)
    )
    if not matches:
        expected = ", ".join("any" if want is None else str(want) for want in shape)
        raise ShapeError(f"{name} has shape {array.shape}, expected ({expected})")
    if not np.isfinite(array).all():
        where = np.argwhere(~np.isfinite(array))[0].tolist()
        raise NonFiniteError(f"{name} has a value that is not finite at index {where}; expected finite numbers only")
    return array


def frozen(array: NDArray[Number]) -> NDArray[Number]:
    """Return a read-only view of `array`, for results that callers must not write to."""
    view = array.view()
    view.flags.writeable = False
    return view
