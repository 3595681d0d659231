"""Taking turns: one thread at a time asks a model, and the others wait."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from weakref import WeakKeyDictionary

__all__ = ["alone"]

# Beside their owners and not on them: a user's module stays as it is, and an adapter can be pickled.
_LOCKS: "WeakKeyDictionary[object, RLock]" = WeakKeyDictionary()
_GUARD = Lock()


@contextmanager
def alone(owner: object) -> Iterator[None]:
    """Hold a model, or a tokenizer that belongs to it, for this thread, which may enter again."""
    with _GUARD:
        lock = _LOCKS.setdefault(owner, RLock())
    with lock:
        yield
