"""The protocol of outputs, which write results as bytes."""

from typing import Protocol

from mase.attribution import Attribution
from mase.io.json import Failure

__all__ = ["Output"]


class Output(Protocol):
    """Writes results to a binary stream: `OUTPUTS["csv"](stream)`.

    It neither opens nor closes the stream. `mase.outputs.OutputFile` does, and makes the writing of a file atomic.
    """

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write the next result; `number` is the number of its text in the input, from 1."""
        ...

    def close(self) -> None:
        """Write what follows the last result. No result may be added afterwards."""
        ...
