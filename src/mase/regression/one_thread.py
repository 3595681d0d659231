"""One thread for the linear algebra of an explanation, whose matrices are too small to gain from more."""

from contextlib import ContextDecorator
from functools import cache
from threading import Lock, local
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController

from mase.platforms import after_fork

__all__ = ["one_thread"]


class _Here(local):
    """How many blocks this thread is in, and what restores the numbers that are its own."""

    blocks = 0
    limit: Any = None


class _OneThread(ContextDecorator):
    """A block or a function in which NumPy and SciPy use one thread; several threads may be in it at once.

    With two threads an explanation takes several times as long as with one, because they wait for each other
    (`benchmarks/threads.py`). They also add numbers in another order, which changes the last bits of scores. A limit of
    the process is set by the first thread to enter and restored by the last to leave, and one of a thread by itself.
    """

    def __init__(self) -> None:
        self._lock, self._inside, self._here = Lock(), 0, _Here()
        after_fork(self._leave_to_this_thread)

    def __enter__(self) -> None:
        if not self._here.blocks:
            with self._lock:
                of_threads, of_process = _libraries()
                self._here.limit = of_threads.limit(limits=1, user_api="blas")
                if not self._inside:
                    _allow_this_thread()
                    self._limit = of_process.limit(limits=1, user_api="blas")
                self._inside += 1
        self._here.blocks += 1

    def __exit__(self, *_: object) -> None:
        self._here.blocks -= 1
        if not self._here.blocks:
            with self._lock:
                self._here.limit.restore_original_limits()
                self._inside -= 1
                if not self._inside:
                    self._restore()

    def _restore(self) -> None:
        _allow_this_thread()
        self._limit.restore_original_limits()
        _allow_this_thread()  # and others after it

    def _leave_to_this_thread(self) -> None:
        """Let a process that was forked go on as if all threads but this one, which it does not have, had left."""
        self._lock, others = Lock(), self._inside and not self._here.blocks
        self._inside = min(self._here.blocks, 1)
        if others:
            self._restore()


def _allow_this_thread() -> None:
    """Let this thread set the number of OpenBLAS, which threadpoolctl otherwise leaves to the first that ever did."""
    OpenBLASController.clear_controlling_thread(force=True)


@cache
def _libraries() -> tuple[ThreadpoolController, ThreadpoolController]:
    """Return the libraries in which each thread has a number of its own, and those with one for the process."""
    import scipy.linalg  # noqa: F401 (loads the libraries that are limited)

    found = ThreadpoolController().select(user_api="blas")
    of_threads = found.select(internal_api="mkl").lib_controllers
    of_threads += found.select(internal_api="openblas").select(threading_layer="openmp").lib_controllers
    paths = [library.filepath for library in of_threads]
    others = [library.filepath for library in found.lib_controllers if library.filepath not in paths]
    return found.select(filepath=paths), found.select(filepath=others)


one_thread = _OneThread()
