"""Settings of a whole process, for those who own it: the command line, and the workers of experiments. The library has none."""

import ctypes
import sys

from mase.models.loading import require

__all__ = ["settle"]

# Parameters of glibc's mallopt(3), and values that every version takes: older ones refuse to map above 32 MiB.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_NEVER, _LARGEST = 2**31 - 1, 32 << 20


def settle(threads: int | None = None) -> None:
    """Make ready a process that explains texts and does nothing else.

    Torch works with `threads` threads, if a number is given: on a busy machine fewer are often faster. And the C
    library, where it is glibc, keeps the memory of one batch for the next: by default it returns large blocks to the
    kernel, which hands them back page by page, zeroed anew.

    Raises
    ------
    MissingDependencyError
        If a number of threads is given and torch is not installed.
    """
    if threads is not None:
        require("torch", "torch")
        import torch

        torch.set_num_threads(threads)
    set_option = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, _LARGEST)
        set_option(_TRIM_THRESHOLD, _NEVER)
