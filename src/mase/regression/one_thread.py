"""One thread for the linear algebra of an explanation, whose matrices are too small to gain from more."""

from contextlib import ContextDecorator
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


class _OneThread(ContextDecorator):
    """A block or a function in which NumPy and SciPy use one thread; several threads may be in it at once.

    With two threads an explanation takes several times as long as with one, because they wait for each other
    (`benchmarks/threads.py`). They also add numbers in another order, which changes the last bits of scores. The limit
    is one of the process: the first to enter sets it, and the last to leave restores what was there before.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 (loads the libraries that are limited)

    return ThreadpoolController()


one_thread = _OneThread()
