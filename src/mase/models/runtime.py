"""Settings of a whole process, for those who own it: the command line, and the workers of experiments. The library has none."""

from mase.models.loading import require
from mase.platforms import keep_freed_memory

__all__ = ["configure"]


def configure(threads: int | None = None) -> None:
    """Make ready a process that explains texts and does nothing else.

    Torch works with `threads` threads, if a number is given: on a busy machine fewer are often faster. And the C
    library keeps the memory of one batch for the next.

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
