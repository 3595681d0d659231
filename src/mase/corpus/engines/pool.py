"""The workers of an engine, and the tasks that wait for one of them."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

from mase.corpus.engines.protocol import QUEUED, Task
from mase.errors import WorkerError

__all__ = ["Pool"]

# Workers that may end one after another before any text is explained, or twice as many as there are workers.
# A system that is short of memory may end all workers at once, perhaps more than once.
MOST_FAILED_STARTS = 10


class _Worker(Protocol):
    """A worker: the tasks that it has, in order, and whether it has opened the explainer."""

    tasks: deque[Task]
    is_ready: bool

    def give(self, task: Task) -> None:
        """Give a task to the worker, without waiting for it."""
        ...


Worker = TypeVar("Worker", bound=_Worker)


class Pool(Generic[Worker]):
    """Workers and waiting tasks. A ready worker has at most `QUEUED` tasks.

    Parameters
    ----------
    kind
        What messages call the workers.

    Attributes
    ----------
    workers
        The workers that have not ended.
    """

    def __init__(self, kind: str) -> None:
        self.workers: list[Worker] = []
        self._kind, self._failed_starts = kind, 0
        self._waiting: deque[Task] = deque()

    @property
    def free(self) -> int:
        """Number of tasks that workers which are ready can take."""
        ready = [worker for worker in self.workers if worker.is_ready]
        return QUEUED * len(ready) - sum(len(worker.tasks) for worker in ready) - len(self._waiting)

    def submit(self, task: Task) -> None:
        """Take a task, and give it to a worker if one can take it."""
        self._waiting.append(task)
        self.assign()

    def return_first(self, tasks: Iterable[Task]) -> None:
        """Take tasks, in order, that another worker had; they come before all others."""
        self._waiting.extendleft(reversed(list(tasks)))

    def count_start(self) -> None:
        """Note that a worker has opened the explainer or explained a text."""
        self._failed_starts = 0

    def count_failed_start(self, n_workers: int, reason: Callable[[], str]) -> None:
        """Note that one of so many workers has ended without a task; `reason` tells how.

        Raises
        ------
        WorkerError
            If too many have, one after another.
        """
        self._failed_starts += 1
        if self._failed_starts >= max(MOST_FAILED_STARTS, 2 * n_workers):
            raise WorkerError(
                f"{self._failed_starts} {self._kind} ended before they had explained a text ({reason():.300}); use "
                "fewer jobs if memory is short"
            )

    def assign(self) -> None:
        """Give waiting tasks to the workers that have the fewest."""
        while self._waiting:
            ready = [worker for worker in self.workers if worker.is_ready and len(worker.tasks) < QUEUED]
            if not ready:
                return
            min(ready, key=lambda worker: len(worker.tasks)).give(self._waiting.popleft())
