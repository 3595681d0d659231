"""Standard streams while a model runs: its output goes to standard error, and its input is empty."""

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
    """Keep the code of a model away from standard output and standard input while the block runs.

    Standard output is for results and standard input for texts. Python's streams are redirected, and also the
    descriptors below them, which C libraries and child processes use.
    """
    given, output = sys.stdin, sys.stdout
    _flush(output)
    with ExitStack() as stack:
        null = os.open(os.devnull, os.O_RDWR)
        stack.callback(os.close, null)
        errors = null if sys.stderr is None else _ERRORS  # a closed descriptor may have been reused for a file
        for descriptor, target in ((_INPUT, null), (_OUTPUT, errors), (_ERRORS, errors)):
            if descriptor != target:  # standard error may be taken away meanwhile, with its terminal
                stack.enter_context(_redirected(descriptor, target))
        stack.callback(_flush, output)  # flush what was written to it before its descriptor is restored
        stack.callback(_replace, given, output)
        _replace(TextIOWrapper(BytesIO(), encoding="utf-8"), sys.stderr)
        yield


def _replace(given: TextIO, output: TextIO) -> None:
    sys.stdin, sys.stdout = given, output


def _flush(stream: TextIO | None) -> None:
    if stream is not None:  # None if the caller closed it
        stream.flush()


@contextmanager
def _redirected(descriptor: int, target: int) -> Iterator[None]:
    """Redirect a descriptor to `target`, if it is open."""
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
