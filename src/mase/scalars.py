"""Whole and real numbers, of Python, NumPy or any other library that registers its numbers."""

from numbers import Integral, Real
from typing import TypeGuard

from mase.errors import OptionError


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; a bool is none.

    Examples
    --------
    >>> import numpy as np
    >>> is_integer(3), is_integer(np.int64(3)), is_integer(True), is_integer(3.0)
    (True, True, False, False)
    """
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_real(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number, which may be infinite or NaN; a bool is none.

    Examples
    --------
    >>> import numpy as np
    >>> is_real(0.5), is_real(np.float32(0.5)), is_real(1), is_real(True), is_real("0.5")
    (True, True, True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_integer(name: str, value: object, least: int) -> int:
    """Return a whole number of at least `least`, the value of an option or parameter of that name.

    Examples
    --------
    >>> check_integer("beam", 2.5, 1)
    Traceback (most recent call last):
    mase.errors.OptionError: beam is 2.5, expected an integer >= 1
    """
    if not is_integer(value) or value < least:
        raise OptionError(f"{name} is {value!r:.60}, expected an integer >= {least}")
    return int(value)
