"""Options with a fixed set of values, for type checkers, editors and the command line."""

from typing import Literal, get_args

__all__ = ["PRECISIONS", "REFERENCES", "Precision", "Reference"]

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# The inputs that can represent an absent word. Each model supports some of them.
Reference = Literal["zero", "mask", "unk", "pad", "delete"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)
