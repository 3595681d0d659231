"""Run cases in separate processes with limits of time, memory and disk.

They are forked from a server that has the libraries loaded.
"""

import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil

__all__ = ["Limits", "Ran", "Running", "call", "each", "mase", "start"]

# A verdict is None where the case held, else what broke.
Verdict = str | None

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.hostile.preload"])
_GIB = 1 << 30
# Share of a processor below which a process waits for something else.
_IDLE = 0.01


@dataclass(frozen=True, slots=True)
class Limits:
    """What a case may use: time, memory beyond what the server has loaded, and bytes per file that it writes.

    It hangs if it is not over after so many seconds, unless it had less time than that of the processors, which others
    use as well, and goes on to use them.
    """

    seconds: float = 30.0
    memory: int = 3 * _GIB
    file_size: int | None = None

    def impose(self) -> None:
        """Limit this process."""
        loaded = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (loaded + self.memory, resource.RLIM_INFINITY))
        if self.file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.file_size, resource.RLIM_INFINITY))


def call(function: Callable[..., Verdict], *arguments: Any, limits: Limits | None = None) -> Verdict:
    """Return the verdict of `function(*arguments)` in a process of its own; it breaks if it raises, hangs or dies."""
    return next(iter(each(function, [arguments], limits)))[1]


def each(
    function: Callable[..., Verdict], items: Sequence[tuple[Any, ...]], limits: Limits | None = None
) -> Iterator[tuple[tuple[Any, ...], Verdict]]:
    """Yield every item with the verdict of `function(*item)`.

    The items share a process until one hangs or ends it; the next one then gets a new process. The time limit is per
    item.
    """
    limits, done = limits or Limits(), 0
    while done < len(items):
        ours, theirs = _CONTEXT.Pipe(duplex=False)
        process = _CONTEXT.Process(target=_judge, args=(function, items[done:], limits, theirs), daemon=True)
        process.start()
        theirs.close()
        for item in items[done:]:
            verdict, over = _received(ours, process, limits.seconds)
            done += 1
            yield item, verdict
            if over:
                break
        process.kill()
        process.join()
        ours.close()


def _received(ours: Connection, process: BaseProcess, seconds: float) -> tuple[Verdict, bool]:
    """Return the next verdict, and whether the process is of no more use."""
    if not _over(ours.poll, process, seconds):
        return f"hung: no answer in {seconds:g} s", True
    try:
        return ours.recv(), False
    except EOFError:
        process.join()
        return f"the process ended with {process.exitcode}", True


def _over(wait: Callable[[float], bool], process: BaseProcess, seconds: float) -> bool:
    """Return whether `wait(seconds)` is true before the process hangs."""
    began = used = _processor_time(process)
    over = wait(seconds)
    while not over and (now := _processor_time(process)) - began < seconds and now - used > _IDLE * seconds:
        used, over = now, wait(seconds)
    return over


def _processor_time(process: BaseProcess) -> float:
    """Return the seconds of the processors that a process and the processes it started have had."""
    total = 0.0
    with suppress(psutil.NoSuchProcess):
        one = psutil.Process(process.pid)
        for member in (one, *one.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                times = member.cpu_times()
                total += times.user + times.system
    return total


def _judge(
    function: Callable[..., Verdict], items: Sequence[tuple[Any, ...]], limits: Limits, theirs: Connection
) -> None:
    limits.impose()
    _quiet()
    for item in items:
        try:
            verdict = function(*item)
        except BaseException:  # noqa: BLE001  (whatever comes out of a case is its verdict)
            verdict = traceback.format_exc(limit=-4)
        theirs.send(verdict)


def _quiet() -> None:
    """Drop what a case writes to standard output and error."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


@dataclass(frozen=True, slots=True)
class Ran:
    """A call of the command `mase` that is over; `code` is None if it was killed because it took too long."""

    code: int | None
    out: bytes
    err: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Running:
    """A call of the command `mase` that is under way."""

    process: BaseProcess
    folder: Path
    began: float = field(default_factory=time.monotonic)

    def kill(self) -> None:
        """End it as `kill -9` does, at once and without a word."""
        self.process.kill()
        self.process.join()

    def _joined(self, seconds: float) -> bool:
        self.process.join(seconds)
        return self.process.exitcode is not None

    def ended(self, seconds: float) -> Ran:
        """Wait for its end, and kill it if that does not come."""
        _over(self._joined, self.process, seconds)
        code = self.process.exitcode
        self.kill()
        err = (self.folder / "stderr").read_text(encoding="utf-8", errors="backslashreplace")
        return Ran(code, (self.folder / "stdout").read_bytes(), err, time.monotonic() - self.began)


def start(
    *arguments: str | Path,
    scratch: Path,
    stdin: bytes = b"",
    cwd: Path | None = None,
    limits: Limits | None = None,
    environment: Mapping[str, str] | None = None,
    own_children: bool = False,
) -> Running:
    """Call `mase ARGUMENTS` in a process of its own, its three streams being files in the folder `scratch`.

    With `own_children` it may start processes itself, which multiprocessing forbids those that end with this one.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    (scratch / "stdin").write_bytes(stdin)
    words = tuple(map(str, arguments))
    process = _CONTEXT.Process(
        target=_command,
        args=(words, scratch, cwd or scratch, limits or Limits(), dict(environment or {})),
        daemon=not own_children,
    )
    process.start()
    return Running(process, scratch)


def mase(*arguments: str | Path, limits: Limits | None = None, **where: Any) -> Ran:
    """Return how `mase ARGUMENTS` ended; see `start`."""
    limits = limits or Limits()
    return start(*arguments, limits=limits, **where).ended(limits.seconds)


def _command(words: tuple[str, ...], scratch: Path, cwd: Path, limits: Limits, environment: dict[str, str]) -> None:
    modes = (("stdin", os.O_RDONLY), ("stdout", os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
             ("stderr", os.O_WRONLY | os.O_CREAT | os.O_TRUNC))  # fmt: skip
    for number, (name, mode) in enumerate(modes):
        os.dup2(os.open(scratch / name, mode, 0o644), number)
    sys.stdin = TextIOWrapper(os.fdopen(0, "rb", closefd=False), encoding="utf-8")
    sys.stdout = TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding="utf-8")
    sys.stderr = TextIOWrapper(os.fdopen(2, "wb", closefd=False), encoding="utf-8", errors="backslashreplace")
    sys.argv = ["mase", *words]
    os.environ.update(environment)
    os.chdir(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests in the background ignores it
    limits.impose()
    from mase.cli import main

    main(prog_name="mase")
