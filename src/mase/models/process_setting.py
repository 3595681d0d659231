"""Settings that belong to the process and not to a thread, while several threads change them at once."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Lock, local
from typing import Any

from mase.platforms import after_fork

__all__ = ["ProcessSetting"]


class _Here(local):
    """How many blocks this thread is in."""

    blocks = 0


class ProcessSetting:
    """A block in which a setting of the process differs; several threads may be in it at once.

    The first thread to enter changes the setting, and the last one to leave restores it. If each thread restored what
    it found itself, the change of another thread could end too early or stay for ever.

    Parameters
    ----------
    change
        Returns a context in which the setting differs; None while there is nothing to change.
    """

    def __init__(self, change: Callable[[], AbstractContextManager[Any] | None]) -> None:
        self._change, self._lock, self._here = change, Lock(), _Here()
        self._inside = 0
        self._changed: AbstractContextManager[Any] | None = None
        after_fork(self._leave_to_this_thread)

    def __enter__(self) -> None:
        with self._lock:
            if self._changed is None:
                changed = self._change()
                if changed is not None:
                    changed.__enter__()
                self._changed = changed
            self._inside += 1
        self._here.blocks += 1

    def __exit__(self, *_: object) -> None:
        self._here.blocks -= 1
        with self._lock:
            self._inside -= 1
            self._restore()

    def _restore(self) -> None:
        if not self._inside and self._changed is not None:
            self._changed.__exit__(None, None, None)
            self._changed = None

    def _leave_to_this_thread(self) -> None:
        """Let a process that was forked go on as if all threads but this one, which it does not have, had left."""
        self._lock, self._inside = Lock(), self._here.blocks
        self._restore()
