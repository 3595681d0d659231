"""Standard streams while a model runs: what it prints goes to standard error, and it has nothing to read."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BytesIO, TextIOWrapper
from typing import TextIO

__all__ = ["aside"]

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2


@contextmanager
def aside() -> Iterator[None]:
    """Keep a model, and the code that it came with, off standard output and standard input for as long as the block runs.

    Standard output is for results and standard input for texts. Both hold for Python's streams and for the descriptors
    under them, which libraries in C and child processes use.
    """
    given, output = sys.stdin, sys.stdout
    _flush(output)
    with ExitStack() as stack:
        nothing = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, nothing)
        errors = nothing if sys.stderr is None else _ERRORS  # where the caller closed it, a file may have its number
        for descriptor, target in ((_INPUT, nothing), (_OUTPUT, errors), (_ERRORS, errors)):
            stack.enter_context(_leading(descriptor, target))
        stack.callback(_flush, output)  # what was written to it in spite of all, before it leads to the results again
        stack.callback(_replace, given, output)
        _replace(TextIOWrapper(BytesIO(), encoding="utf-8"), sys.stderr)
        yield


def _replace(given: TextIO, output: TextIO) -> None:
    sys.stdin, sys.stdout = given, output


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # None where the caller closed it
        stream.flush()


@contextmanager
def _leading(descriptor: int, target: int) -> Iterator[None]:
    """Let a descriptor lead where `target` leads, if it is open at all."""
    try:
        saved = os.dup(descriptor)
    except OSError:
        yield
        return
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        os.dup2(saved, descriptor)
        os.close(saved)
