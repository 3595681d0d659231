"""No workers: this process explains the texts."""

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack

from mase.corpus.engines.protocol import QUEUED, Done, Event, Ready, Resources, Task
from mase.corpus.worker import Recipe, Worker
from mase.errors import OptionError
from mase.models.runtime import single_thread

__all__ = ["Here"]

_NAME = "here"


class Here:
    """This process, with one thread, for models that cannot be sent to another one. See `Engine`.

    A text that ends or blocks the process ends or blocks the run.

    Raises
    ------
    OptionError
        If options are given that need other processes.
    """

    def __init__(self, resources: Resources) -> None:
        if resources.address is not None or resources.gpus_per_worker is not None:
            raise OptionError(
                "got an address or GPUs per worker with the engine 'here', expected neither; use engine='ray'"
            )
        if resources.jobs not in (None, 1):
            raise OptionError(
                f"got {resources.jobs} jobs with the engine 'here', expected 1: this process explains all texts; use "
                "engine='local'"
            )
        self._stack = ExitStack()
        self._tasks: deque[Task] = deque()
        self._worker: Worker | None = None
        self._is_ready = False

    @property
    def free(self) -> int:
        """Number of tasks that this process can take."""
        return QUEUED - len(self._tasks) if self._is_ready else 0

    def start(self, recipe: Recipe, most: int | None = None) -> int:
        """Open the explainer, and return 1, since this process is the only worker.

        Raises
        ------
        OptionError
            If there is a timeout, at which this process would have to end.
        MaseError
            If the explainer cannot be opened.
        """
        if recipe.timeout is not None:
            raise OptionError(
                f"timeout is {recipe.timeout:g}, expected None: the texts are explained in this process, which cannot "
                "end itself; use engine='local' with a model that can be sent to another process"
            )
        self._stack.enter_context(single_thread())
        self._worker = Worker(recipe, _NAME)
        return 1

    def submit(self, task: Task) -> None:
        """Take a task for the next call of `events`."""
        self._tasks.append(task)

    def events(self, timeout: float) -> Sequence[Event]:
        """Explain a task, however long it takes."""
        assert self._worker is not None
        if not self._is_ready:
            self._is_ready = True
            return [Ready(_NAME, self._worker.description)]
        if not self._tasks:
            return []
        task = self._tasks.popleft()
        return [Done(task.number, _NAME, self._worker.explain(task))]

    def close(self) -> None:
        """Restore the number of threads."""
        self._stack.close()
