"""The part of the Ray engine that runs on the machines of the cluster: an actor with one worker process."""

import os
import pickle
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mase.corpus.engines.child import Unable
from mase.corpus.engines.local import Local
from mase.corpus.engines.protocol import Died, Done, Event, Ready, Resources, Task
from mase.corpus.worker import Recipe
from mase.errors import MaseError

if TYPE_CHECKING:
    from mase.explainer import Explainer

__all__ = ["Actor", "Pickled"]

# Seconds for which an actor waits for its worker process at a time.
_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Pickled:
    """Opens an explainer that is pickled, so that the actor itself need not open it."""

    content: bytes

    def __call__(self) -> "Explainer":
        """Return the explainer."""
        explainer: Explainer = pickle.loads(self.content)()
        return explainer


class Actor:
    """A worker process on a machine of the cluster; Ray makes an actor of this class.

    Parameters
    ----------
    recipe
        What the worker opens.
    folder, path
        Where the driver runs, and where it finds modules. These folders may be missing on this machine.
    """

    def __init__(self, recipe: Recipe, folder: str, path: Sequence[str]) -> None:
        with suppress(OSError):
            os.chdir(folder)
        sys.path.extend(folder for folder in path if folder not in sys.path)
        self._engine = Local(Resources(1), f"{socket.gethostname()}-{os.getpid()}-")
        self._recipe = recipe

    def answer(self) -> None:
        """Return nothing. The driver waits for this call to learn that the actor has been created."""

    def open(self) -> "list[Event] | Unable":
        """Start the worker process, and return what it reports."""
        return self._until(Ready, lambda: self._engine.start(self._recipe))

    def explain(self, task: Task) -> "list[Event] | Unable":
        """Return what became of a task, and of worker processes meanwhile."""
        return self._until((Done, Died), lambda: self._engine.submit(task))

    def _until(self, last: Any, begin: Any) -> "list[Event] | Unable":
        events: list[Event] = []
        try:
            begin()
            while not any(isinstance(event, last) for event in events):
                events.extend(self._engine.events(_WAIT))
        except MaseError as error:
            return Unable((type(error).__name__, str(error)))
        return events
