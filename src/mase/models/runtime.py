"""Process-wide settings, used by commands and by the workers of runs and experiments, never by an explanation."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mase.lazy import require
from mase.platforms import keep_freed_memory

__all__ = ["ONE_THREAD", "configure", "single_thread"]

# Environment variables that limit numerical libraries to one thread in a process that has not loaded them yet.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS"), "1"
) | {"TOKENIZERS_PARALLELISM": "false"}


def configure(threads: int | None = None) -> None:
    """Configure a process that only explains texts.

    If `threads` is given, torch uses that many threads; on a busy machine fewer threads are often faster. The C library
    keeps freed memory, so that the next batch can use it.

    Raises
    ------
    MissingDependencyError
        If a number of threads is given and torch is not installed.
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
