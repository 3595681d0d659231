"""Differences between operating systems. This is the only module that depends on the system. Tests run on Linux only.

============================  ===================================  ========================================
feature                       Linux and macOS                      Windows
============================  ===================================  ========================================
output file of a run          locked against a second run          no lock: two runs must not share a file
replacing an open file        readers keep the old content         not allowed: the file is closed first
port of a server that ended   can be used again at once            can be used again anyway
named pipes                   read without waiting for a writer    not files, so not supported
SIGTERM                       ends a command like Ctrl-C           ends it immediately; Ctrl-C works
closing the terminal          the same (SIGHUP)                    ends it immediately
workers of a killed process   Linux: ended by the kernel; macOS:   as on macOS
                              they notice, unless a model hangs
owner of a lock of a run      by process; macOS: by its heartbeat  by its heartbeat
processes that users fork     locks of other threads are forgotten  cannot be forked
freed memory                  Linux: kept by glibc; macOS: default  default
name of the processor         Linux: /proc; macOS: from Python     from Python
its vector instructions       Linux: /proc; macOS: unknown         unknown
============================  ===================================  ========================================

The rest works on all systems. User folders come from platformdirs. New processes are spawned and never forked. Text is
written with line feeds and read with any line endings. Files are compared by `os.stat`, because names may be case-
insensitive. The content of files is flushed to disk; that of reports in folders and of exported models, which can be
made again, is not. Folders are flushed by `mase run` only, and not on Windows: after a power failure a new file may be
missing, but it is never incomplete.
"""

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from traceback import walk_tb
from typing import IO

try:
    import fcntl
except ImportError:  # Not a POSIX system.
    fcntl = None  # type: ignore[assignment]


# The option of prctl(2) that sends a signal to this process when its parent ends.
_PR_SET_PDEATHSIG = 1
# Parameters of mallopt(3) in glibc, and values that all versions accept: old versions reject thresholds above 32 MiB.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER, _LARGEST = 2**31 - 1, 32 << 20

# The descriptors of standard input, output and errors.
_STANDARD = (0, 1, 2)

# The signals that end a command like Ctrl-C; there is no SIGHUP on Windows.
_ENDINGS = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)

# Beginnings of the names of vector instructions in /proc/cpuinfo, of x86 and of ARM.
_VECTOR = ("amx", "avx", "bf16", "f16c", "fma", "asimd", "i8mm", "sve")


def lock(file: IO[bytes]) -> bool:
    """Lock an open file until it is closed, and return whether that succeeded; always True on systems without locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # Some network file systems have no locks.
        return True
    return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder during the block; other processes that lock it wait. Do nothing on systems without locks."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # Some network file systems have no locks.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def can_replace_open_files(system: str = os.name) -> bool:
    """Return whether an open file can be replaced by another file."""
    return system == "posix"


def flush_folder(path: Path) -> None:
    """Flush the names in a folder to the disk, so that a file that was renamed there survives a power failure."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # Some network file systems cannot flush folders.
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def reuses_addresses(system: str = os.name, platform_name: str = sys.platform) -> bool:
    """Return whether SO_REUSEADDR makes the port of a server that has ended usable at once, as in asyncio.

    On Windows and Cygwin it would let two servers have one port.
    """
    return system == "posix" and platform_name != "cygwin"


def open_pipe(path: str | os.PathLike[str]) -> int:
    """Return the descriptor of a named pipe, opened for reading without waiting for a writer."""
    return os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))


def after_fork(act: Callable[[], None]) -> None:
    """Call `act` in every process that is forked from this one; do nothing on systems that do not fork."""
    if os.name == "posix":
        os.register_at_fork(after_in_child=act)


def asks_to_end(error: BaseException) -> bool:
    """Return whether the handler of a signal raised SystemExit, by which it ends the program."""
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()}
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    return isinstance(error, SystemExit) and any(frame.f_code in codes for frame in frames)


def _code_of(handler: object) -> object:
    """Return the code of a function, of that of a partial, or of the method `__call__` of an object; None if in C."""
    function = getattr(handler, "func", handler)
    return getattr(function, "__code__", getattr(type(function).__call__, "__code__", None))


@contextmanager
def on_termination(act: Callable[[], None]) -> Iterator[None]:
    """Call `act` when this process receives SIGTERM, or SIGHUP as of a terminal that is closed, during the block.

    What is written to that terminal afterwards is dropped, and is no error. A signal that already has a handler or is
    ignored, as SIGHUP is by nohup, is left alone. Do nothing outside the main thread.
    """
    if current_thread() is not main_thread():
        yield
        return
    numbers = [number for number in _ENDINGS if signal.getsignal(number) is signal.SIG_DFL]
    terminals = [os.fstat(descriptor) for descriptor in _STANDARD if os.isatty(descriptor)]

    def handle(number: int, _frame: object) -> None:
        if number != signal.SIGTERM:
            _drop_what_is_written(terminals)
        act()

    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP take effect after the block, which must be short, so that it is not cut short.

    A signal that ends the process without a handler does so at once. Do nothing outside the main thread.
    """
    if current_thread() is not main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *_ENDINGS)}
    handled = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:  # from before the first handler is replaced: another signal may raise while they are
        for number in handled:
            signal.signal(number, lambda number, _frame: received.append(number))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(received):
            signal.raise_signal(number)


def _drop_what_is_written(terminals: Sequence[os.stat_result]) -> None:
    """Redirect all descriptors of the terminals, those that are kept to be restored later too, to the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in _open_descriptors():
        with suppress(OSError):  # it was open only to list the others
            if any(os.path.samestat(os.fstat(descriptor), terminal) for terminal in terminals):
                os.dup2(null, descriptor)
    os.close(null)


def _open_descriptors() -> Iterable[int]:
    try:
        return [int(path.name) for path in Path("/dev/fd").iterdir()]
    except OSError:  # not there in some containers
        return _STANDARD


def keep_freed_memory(system: str = sys.platform) -> None:
    """Let glibc keep freed memory, so that the next batch can reuse it; do nothing for other C libraries.

    By default glibc returns large blocks to the kernel, which zeroes every page again on the next allocation.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if system == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGEST)
        set_option(_TRIM_THRESHOLD, _NEVER)


def processor_name(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return the name of the processor from the file `listing` of Linux, or else from Python."""
    if listing.is_file():
        for line in listing.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return (os.cpu_count() or 1) if affinity is None else len(affinity(0))


def end_with_parent() -> None:
    """Let the kernel end this process when the thread that started it ends; do nothing on systems other than Linux."""
    set_option = getattr(ctypes.CDLL(None), "prctl", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_PR_SET_PDEATHSIG, signal.SIGKILL)


def process_space(proc: Path = Path("/proc")) -> str | None:
    """Return a name for the processes among which a process number is unique: this start of this machine or container.

    Return None on systems without `/proc`.
    """
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {(proc / 'self/ns/pid').readlink()}"
    except OSError:
        return None


def process_start(pid: int, proc: Path = Path("/proc")) -> str | None:
    """Return when a process of this process space began, in ticks since the system started; None if there is none.

    A number that is used again belongs to a process with another start.
    """
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name of the program before it may have spaces and brackets
    return None if fields[0] in "ZX" else fields[19]  # a zombie has ended


def vector_instructions(listing: Path = Path("/proc/cpuinfo")) -> str:
    """Return the vector instructions of the processor from the file `listing` of Linux; "" on other systems.

    Numerical libraries choose their code by these. A virtual machine may hide the name of the processor, but not them.
    """
    if not listing.is_file():
        return ""
    for line in listing.read_text(encoding="utf-8").splitlines():
        name, _, features = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return " ".join(sorted(feature for feature in features.split() if feature.startswith(_VECTOR)))
    return ""
