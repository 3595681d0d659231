"""Engines: where the workers of a run are, and what driver and workers tell each other."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from mase.errors import MaseError, WorkerError
from mase.registry import Registry

if TYPE_CHECKING:
    import pyarrow as pa

    from mase.sources.rows import Item
    from mase_corpora.worker import Description, Recipe

__all__ = ["ENGINES", "QUEUED", "Died", "Done", "Engine", "Event", "Pool", "Ready", "Resources", "Task", "as_error"]

ENGINES = Registry(
    "engine",
    {
        "local": "mase_corpora.engines.local:Local",
        "here": "mase_corpora.engines.local:Here",
        "ray": "mase_corpora.engines.ray:Ray",
    },
    "mase.engines",
)

# Tasks that a worker has at a time: the one that it explains, and one more, so that it need not wait for the driver.
QUEUED = 2


@dataclass(frozen=True, slots=True)
class Resources:
    """What the workers of an engine may use.

    Attributes
    ----------
    jobs
        Number of workers; None for as many as the engine has processors for.
    address
        Address of a cluster; None for this machine.
    gpus_per_worker
        Number of GPUs, or the fraction of one, that each worker has for itself. None if it is not the engine's concern.
    """

    jobs: int | None = None
    address: str | None = None
    gpus_per_worker: float | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """Some texts that a worker explains one after another.

    Attributes
    ----------
    number
        Number of the task, different for all tasks of a run.
    items
        The texts.
    deaths
        How many workers have died while they explained the only text of this task.
    """

    number: int
    items: "Sequence[Item]"
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker has opened the explainer. It gets no task before this was reported."""

    worker: str
    description: "Description"


@dataclass(frozen=True, slots=True)
class Done:
    """A worker has explained the texts of a task."""

    task: int
    worker: str
    tables: "Mapping[str, pa.Table]"


@dataclass(frozen=True, slots=True)
class Died:
    """A worker died while it explained a task. `row` is the text that it was at, None if the engine does not know."""

    task: int
    worker: str
    error: WorkerError
    row: int | None = None


Event = Ready | Done | Died


class Engine(Protocol):
    """Workers that explain tasks. An engine is made with its `Resources`, started once and closed once.

    Workers that die are replaced by the engine. A task that waited behind the one at which a worker died is given to
    another worker, and is not reported as dead.
    """

    @property
    def free(self) -> int:
        """Number of tasks that workers which are ready can take, `QUEUED` for each of them."""
        ...

    def start(self, recipe: "Recipe", most: int | None = None) -> int:
        """Begin to start the workers, and return their number, which is `most` at most."""
        ...

    def submit(self, task: Task) -> None:
        """Give a task to a worker, without waiting for it."""
        ...

    def events(self, timeout: float) -> Sequence[Event]:
        """Return what has happened since the last call; wait up to `timeout` seconds if nothing has."""
        ...

    def close(self) -> None:
        """End the workers within seconds, whatever they do. It may be called again, and before `start`."""
        ...


def as_error(name: str, message: str) -> MaseError:
    """Return the error of this library with a type name, a `WorkerError` if there is no such type."""
    from mase import errors

    result = getattr(errors, name, None)
    if isinstance(result, type) and issubclass(result, MaseError):
        return result(message)
    return WorkerError(f"{name}: {message}")


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
        """Note that one of so many workers has ended without a task; `reason` tells how."""
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
