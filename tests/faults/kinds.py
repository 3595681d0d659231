"""Faults of one machine: kills of the driver and of workers, SIGTERM, a full disk and a read-only moment."""

import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from tests.faults.command import Command, waited

__all__ = ["FullDisk", "Kill", "KillWorker", "ReadOnly", "Terminate", "kill_one", "python_workers"]

_KIBIBYTE = 1 << 10
_ENOUGH = 256 * _KIBIBYTE  # KiB
# Seconds that a driver may need to report what the disk refused.
_REPORT = 60.0


def python_workers(command: Command) -> list[psutil.Process]:
    """Return the workers of the local engine."""
    return [process for process in command.below() if "mase_corpora.engines.local" in " ".join(_words(process))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@dataclass
class Local:
    """What the faults of the local engine share: two workers, and nothing to arrange."""

    options: tuple[str, ...] = ("--jobs", "2")
    codes: tuple[int, ...] = ()

    def prepare(self, run: Path, rng: np.random.Generator) -> None:
        """Arrange nothing."""

    def workers(self, command: Command) -> list[psutil.Process]:
        """Return the workers."""
        return python_workers(command)

    def undo(self, run: Path) -> None:
        """Repair nothing."""

    def finish(self, run: Path) -> None:
        """Arrange nothing."""

    def remove(self, run: Path) -> None:
        """Delete a run."""
        shutil.rmtree(run)

    def close(self) -> None:
        """Stop nothing."""


@dataclass
class Kill(Local):
    """`kill -9` of the driver."""

    codes: tuple[int, ...] = (-signal.SIGKILL,)

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Kill the driver."""
        return command.signal(signal.SIGKILL)


@dataclass
class Terminate(Local):
    """SIGTERM to the driver, which then ends as a shell expects; while Python starts, the signal itself ends it."""

    codes: tuple[int, ...] = (143, -signal.SIGTERM)

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Send the signal."""
        return command.signal(signal.SIGTERM)


@dataclass
class KillWorker(Local):
    """`kill -9` of a worker, which the driver survives."""

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Kill one of the workers, once there is one."""
        waited(lambda: not command.alive or bool(self.workers(command)), 60)
        return kill_one(self.workers(command), command, rng)


def kill_one(workers: list[psutil.Process], command: Command, rng: np.random.Generator) -> bool:
    """Kill one of some processes while the driver is at work, and return whether that happened."""
    if not workers or not command.alive:
        return False
    process = workers[rng.integers(len(workers))]
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return waited(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, 10)


@dataclass
class FullDisk(Local):
    """A disk without room: a file system in memory that grows a little after each time."""

    codes: tuple[int, ...] = (1,)

    def prepare(self, run: Path, rng: np.random.Generator) -> None:
        """Give the run between 16 and 400 KiB more than it takes."""
        _mounted(run)
        used = psutil.disk_usage(str(run)).used // _KIBIBYTE
        _mount("-o", f"remount,size={used + int(rng.integers(16, 400))}k", run)

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Wait until the disk is full and the driver has ended of it."""
        return waited(lambda: not command.alive, _REPORT) and command.process.returncode != 0

    def finish(self, run: Path) -> None:
        """Give the run room."""
        _mount("-o", f"remount,size={_ENOUGH}k", run)

    def remove(self, run: Path) -> None:
        """Delete a run and its file system."""
        _unmounted(run)


@dataclass
class ReadOnly(Local):
    """A file system that turns read-only while the run is written."""

    codes: tuple[int, ...] = (1,)

    def prepare(self, run: Path, rng: np.random.Generator) -> None:
        """Put the run on a file system of its own."""
        _mounted(run)

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Turn the file system read-only as soon as no file of it is open, and wait until the driver has ended."""
        while command.alive and not _mount("-o", "remount,ro", command.run, check=False):
            time.sleep(0.002)
        return waited(lambda: not command.alive, _REPORT) and command.process.returncode != 0

    def undo(self, run: Path) -> None:
        """Turn it writable again."""
        _mount("-o", "remount,rw", run)

    def remove(self, run: Path) -> None:
        """Delete a run and its file system."""
        _unmounted(run)


def _mounted(run: Path) -> None:
    """Mount a file system in memory at a folder, if there is none."""
    if not run.is_mount():
        run.mkdir(exist_ok=True)
        _mount("-t", "tmpfs", "-o", f"size={_ENOUGH}k", "faults", run)


def _unmounted(run: Path) -> None:
    subprocess.run(["umount", "--lazy", str(run)], check=True)
    run.rmdir()


def _mount(*arguments: str | Path, check: bool = True) -> bool:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise RuntimeError(f"mount {' '.join(map(str, arguments))}: {done.stderr}")
    return not done.returncode
