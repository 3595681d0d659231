"""Random numbers that depend only on the seed and the text, not on the order of texts, the batch size or the worker."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mase.scalars import check_integer

__all__ = ["generator", "row_noise", "seeded", "stream_key", "untouched"]


def stream_key(seed: int, text: str) -> tuple[int, ...]:
    """Return the entropy of the random stream of `(seed, text)`.

    Raises
    ------
    OptionError
        If the seed is not an integer of at least 0.
    """
    seed = check_integer("seed", seed, 0)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (seed, *np.frombuffer(digest, dtype="<u4").tolist())


def generator(seed: int, text: str) -> np.random.Generator:
    """Return the random generator for one text and one seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(stream_key(seed, text))))


@contextmanager
def untouched() -> Iterator[None]:
    """Restore the global random states of Python and NumPy after the block; the torch adapters do so for torch."""
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


@contextmanager
def seeded(seed: int, text: str) -> Iterator[None]:
    """Seed the global random states of Python and NumPy for one text, and restore them after the block.

    A user's function that draws random numbers then answers a text in the same way in every order and in every process.
    """
    with untouched():
        words = np.random.SeedSequence(stream_key(seed, text)).generate_state(8)
        random.seed(words.tobytes())
        np.random.seed(words)  # noqa: NPY002
        yield


def row_noise(key: tuple[int, ...], row: int, tokens: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal noise `(t, d)` and uniform noise `(t,)`, in float32, for one row of a design.

    The stream is keyed by the row, so that the noise does not depend on the batches.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(key, spawn_key=(row,))))
    return rng.standard_normal((tokens, width), dtype=np.float32), rng.random(tokens, dtype=np.float32)
