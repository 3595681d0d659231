"""Standard streams: where the output of a model goes, and what becomes of messages that cannot be written."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedWriter, BytesIO, FileIO, TextIOWrapper
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["aside", "escape_unencodable", "messages_dropped_if_refused"]

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


def escape_unencodable(stream: TextIO | None) -> None:
    """Let a stream escape the characters that its encoding lacks, such as most of a code page of Windows."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def messages_dropped_if_refused() -> Iterator[None]:
    """Drop what the system refuses to write to standard error while the block runs, so that it costs no results.

    Examples are a full disk, a pipe whose reader has left, and a terminal that is gone.
    """
    errors = sys.stderr
    if not isinstance(errors, TextIOWrapper) or not isinstance(_raw(errors), FileIO):  # None if the caller closed it
        yield
        return
    raw = _Forgiving(errors.fileno(), "w", closefd=False)
    sys.stderr = TextIOWrapper(BufferedWriter(raw), errors.encoding, errors.errors, line_buffering=True)
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = errors


def _raw(stream: TextIOWrapper) -> object:
    """Return what a stream writes to, which PYTHONUNBUFFERED leaves without a buffer."""
    return stream.buffer.raw if isinstance(stream.buffer, BufferedWriter) else stream.buffer


class _Forgiving(FileIO):
    def write(self, data: "ReadableBuffer", /) -> int:
        """Write bytes, and return how many were written or dropped."""
        try:
            written = super().write(data)
        except OSError:
            written = None
        return memoryview(data).nbytes if written is None else written  # None, too, if it would have to wait


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
