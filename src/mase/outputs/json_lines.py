"""JSON Lines output: one object per result, which `mase.load` and later runs read back completely."""

from typing import BinaryIO

from mase.attribution import Attribution
from mase.io.json import Failure, dumps

__all__ = ["JsonLines", "line"]


class JsonLines:
    """Writes each result at once as a line, so that a later failure cannot lose it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write a line and flush it to the operating system."""
        self.stream.write(line(result))
        self.stream.flush()

    def close(self) -> None:
        """Write nothing."""


def line(result: Attribution | Failure) -> bytes:
    """Return a result as one line, with its line end."""
    return dumps(result).encode() + b"\n"
