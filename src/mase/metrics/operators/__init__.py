"""Masking operators: how a metric masks words of a text. One file per kind."""

from typing import Literal

from mase.registry import Registry, unknown

__all__ = ["AUTO", "OPERATORS", "Operator", "check_operator"]

# Selects the model's first reference.
AUTO = "auto"
# The built-in names, for type checkers and editors. A test compares them with the registry.
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
    """Check that `name` is a masking operator, or "auto".

    Raises
    ------
    UnknownNameError
        If it is neither.
    """
    if not isinstance(name, str) or (name != AUTO and name not in OPERATORS):
        raise unknown(OPERATORS.kind, name, [AUTO, *OPERATORS])
