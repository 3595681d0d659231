"""Locks, and settings that belong to the whole process."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock, RLock, local
from typing import Any
from weakref import WeakKeyDictionary

from mase.platforms import after_fork, keep_freed_memory
from mase.registry import require

# The locks are not attributes of their owners, so that a user's module does not change and an adapter can be pickled.
_LOCKS: "WeakKeyDictionary[object, RLock]" = WeakKeyDictionary()
_GUARD = Lock()


def _forget() -> None:
    """Forget all locks: a process that was forked does not have the threads that held them."""
    global _LOCKS, _GUARD
    _LOCKS, _GUARD = WeakKeyDictionary(), Lock()


after_fork(_forget)


@contextmanager
def alone(owner: object) -> Iterator[None]:
    """Lock a model, or a tokenizer that belongs to it, for this thread. The lock is reentrant."""
    with _GUARD:
        lock = _LOCKS.setdefault(owner, RLock())
    with lock:
        yield


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


# Environment variables that limit numerical libraries to one thread in a process that has not loaded them yet.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"), "1"
) | {"TOKENIZERS_PARALLELISM": "false"}


def configure(threads: int | None = None) -> None:
    """Configure a process that only explains texts.

    If `threads` is given, torch uses that many threads; on a busy machine fewer threads are often faster. The C library
    keeps freed memory, so that the next batch can use it.
    """
    if threads is not None:
        require("torch", "torch")
        import torch

        torch.set_num_threads(threads)
    keep_freed_memory()


@contextmanager
def single_thread() -> Iterator[None]:
    """Use one thread in NumPy, SciPy and torch during the block; restore their numbers of threads afterwards.

    Sums of several threads are added in another order, which changes the last bits of scores.
    """
    import scipy.linalg  # noqa: F401 (loads the libraries that are limited)
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    threads = None if torch is None else torch.get_num_threads()
    with threadpool_limits(1):
        if torch is not None:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            if torch is not None:
                torch.set_num_threads(threads)
