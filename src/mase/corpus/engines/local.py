"""Worker processes on this machine."""

import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Any

from mase.corpus.engines.child import Unable
from mase.corpus.engines.pool import Pool
from mase.corpus.engines.process import Process
from mase.corpus.engines.protocol import Done, Event, Ready, Resources, Task, as_error
from mase.corpus.worker import Recipe
from mase.errors import OptionError
from mase.models.portable import dumps
from mase.platforms import usable_cores

__all__ = ["Local"]

# Seconds that workers have to end by themselves.
_GRACE = 1.0
# Seconds between checks for workers whose end was not noticed, because a process that a model started holds the pipe.
_CHECK = 1.0


class Local:
    """Spawned worker processes, each with the explainer and one thread. See `Engine`.

    Parameters
    ----------
    resources
        Number of workers.
    prefix
        What the names of the workers begin with; a number follows.

    Raises
    ------
    OptionError
        If an option is given that concerns clusters.
    """

    def __init__(self, resources: Resources, prefix: str = "") -> None:
        if resources.address is not None or resources.gpus_per_worker is not None:
            raise OptionError(
                "got an address or GPUs per worker with the engine 'local', expected neither; use engine='ray'"
            )
        self._jobs, self._prefix = resources.jobs or usable_cores(), prefix
        self._timeout: float | None = None
        self._recipe = b""
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        self._pool: Pool[Process] = Pool("workers")
        self._n_started = 0

    @property
    def free(self) -> int:
        """Number of tasks that workers which are ready can take."""
        return self._pool.free

    def start(self, recipe: Recipe, most: int | None = None) -> int:
        """Begin to start the workers, and return their number, which is `most` at most.

        Raises
        ------
        NotPicklableError
            If the recipe cannot be sent to another process.
        """
        self._recipe, self._timeout = dumps(recipe), recipe.timeout
        n = self._jobs if most is None else min(self._jobs, most)
        for _ in range(n):
            self._start_one()
        return n

    def submit(self, task: Task) -> None:
        """Give a task to a worker."""
        self._pool.submit(task)

    def events(self, timeout: float) -> Sequence[Event]:
        """Return what has happened since the last call; wait up to `timeout` seconds if nothing has.

        Raises
        ------
        MaseError
            If no worker can open the explainer.
        """
        events: list[Event] = []
        until = time.monotonic() + timeout
        while not events:
            left = until - time.monotonic()
            try:
                worker, message = self._inbox.get(timeout=max(0.0, min(left, _CHECK)))
            except Empty:
                self._notice_ends()
                if left <= 0:
                    break
                continue
            if worker in self._pool.workers:
                events.extend(self._handled(worker, message))
        self._pool.assign()
        return events

    def close(self) -> None:
        """End the workers: those that have nothing to do by themselves, all within seconds."""
        for worker in self._pool.workers:
            worker.close()
        until = time.monotonic() + _GRACE
        for worker in self._pool.workers:
            worker.end(max(0.0, until - time.monotonic()))
        self._pool.workers.clear()

    def _handled(self, worker: Process, message: Any) -> list[Event]:
        if message is None:
            return self._replaced(worker)
        if isinstance(message, Unable):
            raise as_error(*message)
        self._pool.count_start()
        if isinstance(message, Ready):
            worker.is_ready = True
        elif isinstance(message, Done):
            worker.done()
        return [message]

    def _replaced(self, worker: Process) -> list[Event]:
        """Start another worker instead of one that has ended, and return what became of its tasks."""
        self._pool.workers.remove(worker)
        events: list[Event] = []
        if worker.tasks:
            events.append(worker.death(self._timeout))
            worker.tasks.popleft()
            self._pool.return_first(worker.tasks)
        else:
            self._pool.count_failed_start(self._jobs, worker.reason)
        self._start_one()
        return events

    def _notice_ends(self) -> None:
        for worker in self._pool.workers:
            if worker.has_ended:
                self._inbox.put((worker, None))

    def _start_one(self) -> None:
        self._n_started += 1
        self._pool.workers.append(Process(f"{self._prefix}{self._n_started}", self._recipe, self._inbox))
