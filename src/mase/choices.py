"""Options with a fixed set of values, for type checkers, editors and the command line."""

from typing import Literal, get_args

__all__ = ["LONG", "POOLINGS", "PRECISIONS", "REFERENCES", "Long", "Pooling", "Precision", "Reference"]

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
