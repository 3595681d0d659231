"""The program of a worker process of the local engine: it reads tasks from a pipe and writes what becomes of them."""

import os
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

from mase.corpus.engines.protocol import Done, Ready
from mase.errors import MaseError, ModelError
from mase.platforms import end_with_parent, keep_freed_memory
from mase.processes import pipes

if TYPE_CHECKING:
    from mase.corpus.worker import Worker

__all__ = ["Begun", "Unable", "main"]

# Seconds in which a worker may finish what it does after its driver has closed the pipe.
_GRACE = 0.5


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
    from mase.corpus.worker import Worker

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
        time.sleep(_GRACE)
        os._exit(1)
