"""Lines of JSON: one object per result, from which `mase.load` and later runs read everything back."""

from typing import BinaryIO

from mase.attribution import Attribution
from mase.io.json import Failure, dumps

__all__ = ["JsonLines", "line"]


class JsonLines:
    """Writes one line per result at once, so that no later failure can lose it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def add(self, number: int, result: Attribution | Failure) -> None:
        """Write a line and see it through to the system."""
        self.stream.write(line(result))
        self.stream.flush()

    def close(self) -> None:
        """Write nothing."""


def line(result: Attribution | Failure) -> bytes:
    """Return a result as one line, with its end."""
    return dumps(result).encode() + b"\n"
