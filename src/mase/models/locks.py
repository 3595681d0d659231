"""Locks: only one thread at a time may use a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from weakref import WeakKeyDictionary

__all__ = ["alone"]

# The locks are not attributes of their owners, so that a user's module does not change and an adapter can be pickled.
_LOCKS: "WeakKeyDictionary[object, RLock]" = WeakKeyDictionary()
_GUARD = Lock()


@contextmanager
def alone(owner: object) -> Iterator[None]:
    """Lock a model, or a tokenizer that belongs to it, for this thread. The lock is reentrant."""
    with _GUARD:
        lock = _LOCKS.setdefault(owner, RLock())
    with lock:
        yield
