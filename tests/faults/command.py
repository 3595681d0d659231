"""The command `mase run` in a process of its own, and the processes below it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from mase_corpora.folder import Folder
from mase_corpora.storage import LocalStorage

__all__ = ["Command", "finished", "start", "waited"]

_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}


def finished(run: Path) -> set[int]:
    """Return the numbers of the finished parts of a run folder."""
    return Folder(LocalStorage(run)).finished()


def waited(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait until a condition holds, at most so many seconds, and return whether it does."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.005)
    return condition()


@dataclass(frozen=True, slots=True)
class Command:
    """A call of `mase run` that is under way, or over.

    Attributes
    ----------
    process
        The driver of the run.
    run
        The folder of the run.
    log
        File that has its standard output and error.
    """

    process: "subprocess.Popen[bytes]"
    run: Path
    log: Path

    @property
    def alive(self) -> bool:
        """Whether the driver runs."""
        return self.process.poll() is None

    def signal(self, number: signal.Signals) -> bool:
        """Send the driver a signal, and return whether it ran until then."""
        if not self.alive:
            return False
        self.process.send_signal(number)
        return True

    def ended(self, seconds: float) -> int | None:
        """Return the exit code; None if the driver is still running after so many seconds, and is then killed."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def below(self) -> list[psutil.Process]:
        """Return all processes that the driver started, and those that they started."""
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def words(self) -> str:
        """Return the end of what the command wrote, for messages."""
        return self.log.read_text(encoding="utf-8", errors="backslashreplace")[-600:]


def start(arguments: Sequence[str | Path], run: Path, log: Path) -> Command:
    """Call `mase run ARGUMENTS -o RUN`; its output goes into the file `log`."""
    words = [sys.executable, "-m", "mase", "run", *map(str, arguments), "--output", str(run)]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=os.environ | _ENVIRONMENT
        )
    return Command(process, run, log)
