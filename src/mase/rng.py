"""Random numbers that depend only on the seed and the text, not on the order of texts, the batch size or the worker."""

import hashlib
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock, local
from typing import Any, Self

import numpy as np

from mase.defaults import check_integer
from mase.platforms import after_fork


def stream_key(seed: int, text: str) -> tuple[int, ...]:
    """Return the entropy of the random stream of `(seed, text)`."""
    seed = check_integer("seed", seed, 0)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (seed, *np.frombuffer(digest, dtype="<u4").tolist())


def generator(seed: int, text: str) -> np.random.Generator:
    """Return the random generator for one text and one seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(stream_key(seed, text))))


@dataclass(frozen=True, slots=True)
class _States:
    """The global random states of Python and NumPy, and of torch where it is imported."""

    python: Any
    numpy: Any
    torch: Any = None
    cuda: Any = None

    @classmethod
    def now(cls) -> Self:
        torch = _torch()
        on_cpu = None if torch is None else torch.get_rng_state()
        on_cuda = torch.cuda.get_rng_state_all() if torch is not None and torch.cuda.is_initialized() else None
        return cls(random.getstate(), np.random.get_state(), on_cpu, on_cuda)  # noqa: NPY002

    def restore(self) -> None:
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002
        if self.torch is not None:
            _torch().set_rng_state(self.torch)
        if self.cuda is not None:
            _torch().cuda.set_rng_state_all(self.cuda)


def _torch() -> Any:
    """Return torch if the program has imported it."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "get_rng_state") else None  # it may be on its way


class _Depth(local):
    """How many blocks a thread is in."""

    blocks = 0


_DEPTH, _LOCK = _Depth(), Lock()
# What the first of several threads found, and how many of them are in a block.
_FOUND: list[_States] = []
_THREADS: list[int] = [0]


def _leave_to_this_thread() -> None:
    """Let a process that was forked begin as if all threads but this one, which it does not have, had left."""
    global _LOCK
    _LOCK = Lock()
    _THREADS[0] = min(_DEPTH.blocks, 1)
    if not _THREADS[0] and _FOUND:
        replace(_FOUND.pop(), cuda=None).restore()  # a fork cannot use CUDA


after_fork(_leave_to_this_thread)


@contextmanager
def untouched() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and torch after the block.

    The states belong to all threads. If several are in such a block, the last one to leave restores what the first one
    found.
    """
    if _DEPTH.blocks:
        states = _States.now()
    else:
        with _LOCK:
            if not _THREADS[0]:
                _FOUND[:] = [_States.now()]
            _THREADS[0] += 1
    _DEPTH.blocks += 1
    try:
        yield
    finally:
        _DEPTH.blocks -= 1
        if _DEPTH.blocks:
            states.restore()
        else:
            with _LOCK:
                _THREADS[0] -= 1
                if not _THREADS[0]:
                    _FOUND.pop().restore()


@contextmanager
def seeded(seed: int, text: str) -> Iterator[None]:
    """Seed the global random states for one text, and restore them after the block.

    A user's function that draws random numbers then answers a text in the same way in every order and in every process,
    unless other threads draw random numbers at the same time.
    """
    with untouched():
        words = np.random.SeedSequence(stream_key(seed, text)).generate_state(8)
        random.seed(words.tobytes())
        np.random.seed(words)  # noqa: NPY002
        torch = _torch()
        if torch is not None:
            torch.default_generator.manual_seed(int(words[0]))
            if torch.cuda.is_initialized():
                torch.cuda.manual_seed_all(int(words[0]))
        yield


def row_noise(key: tuple[int, ...], row: int, tokens: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal noise `(t, d)` and uniform noise `(t,)`, in float32, for one row of a design.

    The stream is keyed by the row, so that the noise does not depend on the batches.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(key, spawn_key=(row,))))
    return rng.standard_normal((tokens, width), dtype=np.float32), rng.random(tokens, dtype=np.float32)
