"""Process-wide settings, used by the command line and by the workers of experiments, never by the library itself."""

from mase.lazy import require
from mase.platforms import keep_freed_memory

__all__ = ["configure"]


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
