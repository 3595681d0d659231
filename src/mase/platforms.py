"""What differs between systems: the one module that asks which system this is. Tests run on Linux alone.

============================  ===================================  ========================================
what                          Linux and macOS                      Windows
============================  ===================================  ========================================
a file that a run writes      locked against a second run          no lock: two runs must not share a file
replacing an open file        the readers keep the old content     refused: we close it first
pipes with names              read without waiting for a writer    are no files: not looked for
SIGTERM                       ends a command as Ctrl-C does        ends it at once; Ctrl-C works
freed memory                  kept by glibc; macOS: as it comes    as it comes
name of the processor         Linux: /proc; macOS: by Python       by Python
============================  ===================================  ========================================

What needs no branch: folders of the user come from platformdirs, new processes are spawned and never forked, text is
written with line feeds and read with any line ends, and files are told apart by `os.stat` and not by their names, whose
case may not count. Contents are flushed to the disk, folders are not: after a power cut a new file may be missing, but
none is half there.
"""

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import IO

try:
    import fcntl
except ImportError:  # not a POSIX system
    fcntl = None  # type: ignore[assignment]

__all__ = [
    "can_replace_open_files",
    "keep_freed_memory",
    "lock",
    "locked",
    "on_termination",
    "open_pipe",
    "processor_name",
]

# Parameters of glibc's mallopt(3), and values that every version takes: older ones refuse to map above 32 MiB.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER, _LARGEST = 2**31 - 1, 32 << 20


def lock(file: IO[bytes]) -> bool:
    """Return whether an open file is now this process's alone until it is closed; always, where there are no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems have no locks
        return True
    return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder while the block runs: a process that asks for it meanwhile waits; no lock where there are none."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def can_replace_open_files(system: str = os.name) -> bool:
    """Return whether a file can take the place of one that is open."""
    return system == "posix"


def open_pipe(path: str | os.PathLike[str]) -> int:
    """Return the descriptor of a pipe with a name, opened for reading without waiting for somebody to write.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    return os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))


@contextmanager
def on_termination(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` when the system asks this process to end (SIGTERM) in the block.

    Nothing changes where whoever started the process handles or ignores the signal, or in another thread than the first.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda _number, _frame: act())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def keep_freed_memory(system: str = sys.platform) -> None:
    """Let the C library keep the memory of one batch for the next, where it is glibc.

    By default it returns large blocks to the kernel, which hands them back page by page, zeroed anew.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if system == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGEST)
        set_option(_TRIM_THRESHOLD, _NEVER)


def processor_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor, as Linux tells it in `listing`, or else as Python knows it."""
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
