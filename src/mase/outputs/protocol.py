"""What an output is: results in, bytes out."""

from typing import Protocol

from mase.attribution import Attribution
from mase.io.json import Failure

__all__ = ["Output"]


class Output(Protocol):
    """Writes results to the binary stream that it is made with: `OUTPUTS["csv"](stream)`.

    It neither opens nor closes the stream; `mase.outputs.OutputFile` does, and sees to it that a file is there whole or
    not at all.
    """

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Take the next result; `number` is that of its text in the input, from 1 on."""
        ...

    def close(self) -> None:
        """Write what comes behind the last result. No result comes after it."""
        ...
