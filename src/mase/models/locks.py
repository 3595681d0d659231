"""Locks: only one thread at a time may use a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from weakref import WeakKeyDictionary

from mase.platforms import after_fork

__all__ = ["alone"]

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
