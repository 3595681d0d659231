"""Long runs that are struck again and again at random moments, and what became of them."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import psutil

from tests.faults.command import Command, finished, start, waited
from tests.faults.scene import Scene

__all__ = ["Fault", "Tally", "Trial"]

# Seconds: for the next part to be finished, for the whole rest of a run, and for orphans to end.
_STALLED, _REST, _ORPHANS = 120.0, 900.0, 30.0
# A worker may take this long to notice that its driver is gone.
_WITHIN = 10.0


class Fault(Protocol):
    """One kind of fault.

    Attributes
    ----------
    options
        Options of `mase run` that it needs, such as the engine.
    codes
        Exit codes of a driver that was struck; empty if a driver survives the fault.
    """

    options: tuple[str, ...]
    codes: tuple[int, ...]

    def prepare(self, run: Path, rng: np.random.Generator) -> None:
        """Arrange the place of the run before the command starts."""
        ...

    def workers(self, command: Command) -> list[psutil.Process]:
        """Return the processes that explain texts."""
        ...

    def strike(self, command: Command, rng: np.random.Generator) -> bool:
        """Make the fault happen, and return whether it did."""
        ...

    def undo(self, run: Path) -> None:
        """Repair what can be repaired, before the command is given again."""
        ...

    def finish(self, run: Path) -> None:
        """Let the rest of the run go through."""
        ...

    def remove(self, run: Path) -> None:
        """Delete a run."""
        ...

    def close(self) -> None:
        """Stop what was started for all runs."""
        ...


@dataclass(slots=True)
class Tally:
    """What became of the faults of one kind.

    Attributes
    ----------
    struck
        Number of faults that happened while the run was under way.
    runs
        Number of runs that they were spread over.
    rows
        Number of texts of these runs.
    lost, twice
        Texts without a row, and with a row too many, at the end.
    different
        Files of parts that differ from those of the uninterrupted run.
    orphans
        The longest time that a worker outlived its driver, in seconds.
    complaints
        Everything else that went wrong.
    """

    struck: int = 0
    runs: int = 0
    rows: int = 0
    lost: int = 0
    twice: int = 0
    different: int = 0
    orphans: float = 0.0
    seconds: float = 0.0
    complaints: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether nothing was lost, doubled or changed, and nothing else went wrong."""
        return not (self.lost or self.twice or self.different or self.complaints) and self.orphans <= _WITHIN


@dataclass(frozen=True)
class Trial:
    """Faults of one kind during runs of a scene.

    Attributes
    ----------
    per_run
        Faults per run, at most.
    """

    scene: Scene
    fault: Fault
    per_run: int
    seed: int = 18

    def run(self, n: int) -> Tally:
        """Return what became of `n` faults."""
        tally, rng, began = Tally(), np.random.default_rng(self.seed), time.monotonic()
        assert self.scene.reference.is_dir()
        while tally.struck < n and len(tally.complaints) < 5:
            run = self.scene.folder / f"run-{tally.runs}"
            for _ in self._struck(run, min(self.per_run, n - tally.struck), rng, tally):
                tally.struck += 1
            self._completed(run, tally)
        tally.seconds = time.monotonic() - began
        return tally

    def _struck(self, run: Path, n: int, rng: np.random.Generator, tally: Tally) -> Iterator[None]:
        """Yield once per fault that happened during a run, until there were `n` or the run is over."""
        while n and len(finished(run)) < self.scene.n_parts:
            self.fault.prepare(run, rng)
            command, workers, survived = self._started(run), [], True
            while n and survived and self._moment(command, rng, tally):
                workers = self.fault.workers(command)
                if not self.fault.strike(command, rng):
                    break
                n -= 1
                survived = not self.fault.codes
                yield
            if survived:
                self._rest(command, tally)
            else:
                self._after(command, workers, tally)
            self.fault.undo(run)
            tally.different += len(self.scene.different(run, finished(run)))

    def _started(self, run: Path) -> Command:
        return start((*self.scene.arguments, *self.fault.options), run, self.scene.folder / "command.log")

    def _moment(self, command: Command, rng: np.random.Generator, tally: Tally) -> bool:
        """Wait for a random moment, and return whether the driver is still at work then."""
        before = len(finished(command.run))
        parts = int(rng.integers(0, 3))
        moved = waited(lambda: not command.alive or len(finished(command.run)) >= before + parts, _STALLED)
        if not moved:
            tally.complaints.append(f"no part was finished in {_STALLED:g} s: {command.words()}")
        time.sleep(rng.uniform(0, 0.4))
        return moved and command.alive

    def _after(self, command: Command, workers: list[psutil.Process], tally: Tally) -> None:
        """Judge how a driver ended that was struck, and how fast its workers did."""
        began = time.monotonic()
        code = command.ended(_ORPHANS)
        if code not in self.fault.codes or "Traceback" in command.words():
            tally.complaints.append(f"the driver ended with {code}, expected {self.fault.codes}: {command.words()}")
        if not waited(lambda: not any(map(_works, workers)), _ORPHANS):
            tally.complaints.append(f"{sum(map(_works, workers))} workers outlived their driver by {_ORPHANS:g} s")
        tally.orphans = max(tally.orphans, time.monotonic() - began)

    def _rest(self, command: Command, tally: Tally) -> None:
        """Wait for the end of a driver that survives."""
        code = command.ended(_REST)
        if code != 0:
            tally.complaints.append(f"the command ended with {code}, expected 0: {command.words()}")

    def _completed(self, run: Path, tally: Tally) -> None:
        """Finish a run, and compare it with the uninterrupted one."""
        self.fault.finish(run)
        if len(finished(run)) < self.scene.n_parts:
            self._rest(self._started(run), tally)
        lost, twice = self.scene.rows(run)
        tally.runs, tally.rows = tally.runs + 1, tally.rows + self.scene.n
        tally.lost, tally.twice = tally.lost + lost, tally.twice + twice
        tally.different += len(self.scene.different(run, set(range(self.scene.n_parts))))
        self.fault.remove(run)


def _works(process: psutil.Process) -> bool:
    """Return whether a process uses memory and processor: it is neither gone nor a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
