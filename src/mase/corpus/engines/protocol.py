"""What an engine does: it opens the explainer in workers, gives them tasks and reports what becomes of these."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mase.corpus.source import Item
from mase.errors import MaseError, WorkerError

if TYPE_CHECKING:
    import pyarrow as pa

    from mase.corpus.worker import Description, Recipe

__all__ = ["QUEUED", "Died", "Done", "Engine", "Event", "Ready", "Resources", "Task", "as_error"]

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
    items: Sequence[Item]
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
        """Begin to start the workers, and return their number, which is `most` at most.

        Raises
        ------
        MaseError
            If the engine cannot be started.
        """
        ...

    def submit(self, task: Task) -> None:
        """Give a task to a worker, without waiting for it."""
        ...

    def events(self, timeout: float) -> Sequence[Event]:
        """Return what has happened since the last call; wait up to `timeout` seconds if nothing has.

        Raises
        ------
        MaseError
            If no worker can open the explainer.
        """
        ...

    def close(self) -> None:
        """End the workers within seconds, whatever they do. It may be called again, and before `start`."""
        ...


def as_error(name: str, message: str) -> MaseError:
    """Return the error of this library with a type name, a `WorkerError` if there is no such type."""
    from mase import errors

    found = getattr(errors, name, None)
    if isinstance(found, type) and issubclass(found, MaseError):
        return found(message)
    return WorkerError(f"{name}: {message}")
