"""Options with a closed set of values, for type checkers, editors and the command line. Open sets are registries."""

from typing import Literal, get_args

__all__ = ["PRECISIONS", "REFERENCES", "UNITS", "Precision", "Reference", "Units"]

Units = Literal["word", "token"]
UNITS: tuple[Units, ...] = get_args(Units)

Precision = Literal["float32", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

# What can stand for an absent word; each model has some of them.
Reference = Literal["zero", "mask", "unk", "pad", "delete"]
REFERENCES: tuple[Reference, ...] = get_args(Reference)
