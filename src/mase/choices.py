"""Options with a fixed set of values, for type checkers, editors and the command line."""

from collections.abc import Collection
from typing import Literal, get_args

from mase.errors import OptionError

__all__ = ["LONG", "POOLINGS", "PRECISIONS", "REFERENCES", "Long", "Pooling", "Precision", "Reference", "check_choice"]

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# The inputs that can represent an absent word. Each model supports some of them.
Reference = Literal["zero", "mask", "unk", "pad", "delete"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)

# What to do with a text that is longer than the model reads, and how the predictions for its windows become one.
Long = Literal["cut", "windows"]
LONG: tuple[Long, ...] = get_args(Long)
Pooling = Literal["mean", "max", "first"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)


def check_choice(option: str, value: object, choices: Collection[str]) -> None:
    """Check that the value of an option, whatever its type, is one of the choices.

    Raises
    ------
    OptionError
        If it is not.

    Examples
    --------
    >>> check_choice("pooling", "max", POOLINGS)
    """
    if not isinstance(value, str) or value not in choices:  # only strings: an array has no single answer to ==
        raise OptionError(f"{option} is {value!r:.60}, expected one of {', '.join(choices)}")
