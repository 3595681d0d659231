"""Array types, and checks of shape and finiteness."""

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
