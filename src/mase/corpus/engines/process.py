"""A worker process of the local engine, seen from the driver."""

import os
import pickle
import subprocess
import sys
import time
from collections import deque
from queue import SimpleQueue
from threading import Thread
from typing import Any

from mase.corpus.engines.child import Begun
from mase.corpus.engines.protocol import Died, Done, Task
from mase.corpus.worker import ENDED_BY_TIMEOUT
from mase.errors import TextTimeoutError, WorkerError
from mase.models.runtime import ONE_THREAD
from mase.processes import command, ending

__all__ = ["Process"]

# Seconds that a worker has to end after it has closed its pipe.
_GRACE = 1.0
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

    Raises
    ------
    WorkerError
        If the system cannot start another process.

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
                command("mase.corpus.engines.child", name),
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
        self.end(_GRACE)  # a model may have closed the pipe of a process that goes on
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
