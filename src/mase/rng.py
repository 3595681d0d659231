"""Random numbers that depend on the seed and the text only: not on order, batch size or worker."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mase.errors import OptionError

__all__ = ["generator", "row_noise", "stream_key", "untouched"]


def stream_key(seed: int, text: str) -> tuple[int, ...]:
    """Return the entropy words of the stream that belongs to `(seed, text)`."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"seed is {seed!r}, expected an integer >= 0")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (int(seed), *np.frombuffer(digest, dtype="<u4").tolist())


def generator(seed: int, text: str) -> np.random.Generator:
    """Return the generator for the design of one text under one seed."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(stream_key(seed, text))))


@contextmanager
def untouched() -> Iterator[None]:
    """Give the global random states of Python and NumPy back as they were; torch's belongs to the torch adapters."""
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002


def row_noise(key: tuple[int, ...], row: int, tokens: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standard normal noise `(t, d)` and uniform noise `(t,)`, float32, that belong to one row of a design.

    Keyed by row, so that splitting the rows into other batches gives the same noise.
    """
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence(key, spawn_key=(row,))))
    return rng.standard_normal((tokens, width), dtype=np.float32), rng.random(tokens, dtype=np.float32)
