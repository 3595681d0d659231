"""Process-wide settings, used by the command line and by worker processes, never by a call of the library itself."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from mase.lazy import require
from mase.platforms import keep_freed_memory, processor_name

__all__ = ["ONE_THREAD", "configure", "hardware", "one_thread"]

# Environment variables that limit numerical libraries to one thread, if they are set before these are loaded.
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
def one_thread() -> Iterator[None]:
    """Limit the numerical libraries of this process to one thread while the block runs.

    Raises
    ------
    MissingDependencyError
        If threadpoolctl is not installed.
    """
    require("threadpoolctl", "corpora")
    from threadpoolctl import threadpool_limits

    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        torch = sys.modules.get("torch")
        if torch is not None:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(1)
        yield


def hardware() -> dict[str, Any]:
    """Return the processor, the GPU if torch uses one in this process, and the threads of a process limited to one.

    A model that sets the threads of torch itself has as many as it says.
    """
    torch = sys.modules.get("torch")
    gpu = torch.cuda.get_device_name() if torch is not None and torch.cuda.is_initialized() else None
    return {"processor": processor_name(), "gpu": gpu, "threads": 1 if torch is None else torch.get_num_threads()}
