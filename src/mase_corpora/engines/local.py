"""Workers in processes of this machine, or in this process."""

import os
import pickle
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from mase.errors import MaseError, ModelError, OptionError, TextTimeoutError, WorkerError
from mase.files import command, ending, pipes
from mase.models.locks import ONE_THREAD, single_thread
from mase.models.origin import dumps
from mase.platforms import end_with_parent, keep_freed_memory, usable_cores
from mase_corpora.engines import QUEUED, Died, Done, Event, Pool, Ready, Resources, Task, as_error
from mase_corpora.worker import ENDED_BY_TIMEOUT, Recipe, Worker

if TYPE_CHECKING:
    from mase_corpora.worker import Worker


# Seconds in which a worker may finish what it does after its driver has closed the pipe.
_CHILD_GRACE = 0.5


@dataclass(frozen=True, slots=True)
class Begun:
    """The worker begins to explain a text.

    Attributes
    ----------
    row
        The row of the text.
    at
        When it began, in seconds of the monotonic clock, which all processes of a machine share.
    """

    row: int
    at: float


class Unable(tuple[str, str]):
    """The type name and the message of the error because of which a worker cannot open the explainer."""

    __slots__ = ()


def main(name: str) -> None:
    """Explain the tasks that arrive, after a first message with the pickled recipe."""
    end_with_parent()
    keep_freed_memory()
    messages, answers = pipes()
    inbox: SimpleQueue[Any] = SimpleQueue()
    Thread(target=_receive, args=(messages, inbox), daemon=True).start()

    def answer(value: Any) -> None:
        pickle.dump(value, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()

    try:
        _work(name, inbox, answer)
    except BrokenPipeError:  # the driver has ended
        os._exit(1)


def _work(name: str, inbox: "SimpleQueue[Any]", answer: Callable[[Any], None]) -> None:
    recipe = inbox.get()
    worker = None if recipe is None else _opened(recipe, name)
    if isinstance(worker, Unable):
        answer(worker)
    elif worker is not None:
        answer(Ready(name, worker.description))
        for task in iter(inbox.get, None):
            answer(Done(task.number, name, worker.explain(task, lambda row: answer(Begun(row, time.monotonic())))))


def _opened(recipe: bytes, name: str) -> "Worker | Unable":
    from mase_corpora.worker import Worker

    try:
        return Worker(pickle.loads(recipe), name, interruptible=False)
    except MaseError as error:
        return Unable((type(error).__name__, str(error)))
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (the code of the user may raise anything)
        message = f"a worker cannot open the model: {type(error).__name__}: {' '.join(str(error).split())}"
        return Unable((ModelError.__name__, message))


def _receive(messages: BinaryIO, inbox: "SimpleQueue[Any]") -> NoReturn:
    """Pass messages on until the driver closes the pipe, then end this process, whatever it does."""
    try:
        while True:
            inbox.put(pickle.load(messages))
    except (EOFError, OSError, pickle.UnpicklingError):
        inbox.put(None)
        time.sleep(_CHILD_GRACE)
        os._exit(1)


# Seconds that a worker has to end after it has closed its pipe.
_PROCESS_GRACE = 1.0

# By default each process has other hashes of strings, and with them another order of sets. A model that depends on them
# would be another one in each worker.
_SAME_HASHES = {"PYTHONHASHSEED": "0"}


class Process:
    """A worker process, with one thread that writes to it and one that reads from it, so that no call has to wait.

    Parameters
    ----------
    name
        Name of the worker.
    recipe
        The pickled recipe.
    inbox
        Gets `(process, message)` for every message of the worker, and `(process, None)` when it has ended.

    Attributes
    ----------
    tasks
        The tasks that it has, of which it explains the first one.
    is_ready
        Whether it has opened the explainer.
    """

    def __init__(self, name: str, recipe: bytes, inbox: "SimpleQueue[Any]") -> None:
        self.name, self.tasks, self.is_ready = name, deque[Task](), False
        self._inbox, self._outbox = inbox, SimpleQueue[Any]()
        self._row: int | None = None
        self._begun = time.monotonic()
        try:
            self._popen = subprocess.Popen(
                command("mase_corpora.engines.local", name),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if sys.stderr is None else None,
                env=_SAME_HASHES | os.environ | ONE_THREAD,
            )
        except OSError as error:
            raise WorkerError(f"a worker process cannot be started ({error}); use fewer jobs") from error
        self._outbox.put(recipe)
        self._threads = [Thread(target=target, daemon=True) for target in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return self._popen.poll() is not None

    def give(self, task: Task) -> None:
        """Give a task to the worker."""
        self.tasks.append(task)
        self._outbox.put(task)

    def done(self) -> None:
        """Remove the task that the worker has explained."""
        self.tasks.popleft()

    def death(self, timeout: float | None) -> Died:
        """Return what to report of the first task after the worker has ended."""
        seconds = time.monotonic() - self._begun
        error = WorkerError(f"{self.reason()} while it explained the text")
        # The last text that was begun may still be one of the task before.
        row = self._row if any(item.row == self._row for item in self.tasks[0].items) else None
        # The driver may notice the end of any process late.
        is_over = timeout is not None and seconds >= timeout and self._popen.returncode == ENDED_BY_TIMEOUT
        if is_over and row is not None:
            error = TextTimeoutError(f"explaining the text took longer than the timeout of {timeout:g} s")
        return Died(self.tasks[0].number, self.name, error, row)

    def reason(self) -> str:
        """Return how the process ended."""
        self.end(_PROCESS_GRACE)  # a model may have closed the pipe of a process that goes on
        return f"the worker process {ending(self._popen.returncode)}"

    def close(self) -> None:
        """Close the pipe, at which the worker ends; do not wait for it."""
        self._outbox.put(None)

    def end(self, timeout: float) -> None:
        """Wait until the worker has ended, and kill it after some seconds."""
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        for thread in self._threads:
            thread.join(1)  # another process that a model has started may still hold the pipe

    def _write(self) -> None:
        assert self._popen.stdin is not None
        try:
            with self._popen.stdin as pipe:
                for message in iter(self._outbox.get, None):
                    pickle.dump(message, pipe, pickle.HIGHEST_PROTOCOL)
                    pipe.flush()
        except OSError:  # the worker has ended, which the other thread reports
            pass

    def _read(self) -> None:
        assert self._popen.stdout is not None
        try:
            with self._popen.stdout as pipe:
                while True:
                    message = pickle.load(pipe)
                    if isinstance(message, Begun):
                        self._row, self._begun = message.row, message.at
                        continue
                    if isinstance(message, Done):
                        self._row = None  # here, because the worker may have begun its next task when this is handled
                    self._inbox.put((self, message))
        except (EOFError, OSError, pickle.UnpicklingError):  # it has ended, perhaps in the middle of a message
            self._inbox.put((self, None))


# Seconds that workers have to end by themselves.
_LOCAL_GRACE = 1.0

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
        until = time.monotonic() + _LOCAL_GRACE
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
