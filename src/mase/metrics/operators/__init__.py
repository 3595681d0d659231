"""Masking operators: how a metric takes words out of a text. One file per kind."""

from typing import Literal

from mase.registry import Registry, unknown

__all__ = ["AUTO", "OPERATORS", "Operator", "check_operator"]

# What stands for the model's own operator: its first reference.
AUTO = "auto"
# The built-in names, for type checkers and editors; a test holds them to the registry.
Operator = Literal["auto", "mask", "unk", "pad", "zero", "delete"]

OPERATORS = Registry(
    "masking operator",
    {
        "mask": "mase.metrics.operators.replacement:MASK",
        "unk": "mase.metrics.operators.replacement:UNK",
        "pad": "mase.metrics.operators.replacement:PAD",
        "zero": "mase.metrics.operators.replacement:ZERO",
        "delete": "mase.metrics.operators.deletion:DELETE",
    },
    "mase.operators",
)


def check_operator(name: str) -> None:
    """Make sure that there is such a masking operator, or that it is "auto".

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    if name != AUTO and name not in OPERATORS:
        raise unknown(OPERATORS.kind, name, [AUTO, *OPERATORS])
