"""How to evaluate a model: batch size, and half precision, which is tested on a few rows before it is used."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mase.arrays import Floats
from mase.choices import PRECISIONS, Precision, check_choice
from mase.models.batching import check_batch_size

__all__ = ["AUTO", "NO_INSTRUCTIONS", "Precision", "QueryOptions", "too_noisy", "trial_rows"]

# Number of rows of the trial, and the largest noise of half precision that is accepted, relative to the signal.
_TRIAL_ROWS, _LARGEST_NOISE = 16, 0.1
NO_INSTRUCTIONS: str | None = "this processor has no bfloat16 instructions, so half precision would be slower"


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How to evaluate a model.

    Parameters
    ----------
    batch_size
        Rows per forward pass, or "auto" to choose by the model and the length of the text. The same settings on the
        same machine and versions give the same scores to the last bit. Another batch size changes them by rounding (up
        to 3e-7 of the largest, with one row at a time).
    precision
        "float32", or "bfloat16" for half precision. Half precision is used if the processor supports it and its noise
        on 16 rows is small; otherwise float32 is used and a note says so.

    Raises
    ------
    OptionError
        If a value is invalid.
    """

    batch_size: int | Literal["auto"] = "auto"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        check_choice("precision", self.precision, PRECISIONS)

    @property
    def rows(self) -> int | None:
        """Rows per forward pass; None for "auto"."""
        return check_batch_size(self.batch_size)


AUTO = QueryOptions()


def trial_rows(rows: Floats | None, p: int) -> Floats:
    """Return rows `(n, p)` to test half precision on: the first of `rows`, or Bernoulli rows if there are too few."""
    if rows is not None and len(rows) >= _TRIAL_ROWS:
        return rows[:_TRIAL_ROWS]
    return np.random.default_rng(0).integers(0, 2, size=(_TRIAL_ROWS, p)).astype(np.float64)


def too_noisy(exact: Floats, rough: Floats) -> str | None:
    """Return why half-precision responses `(n,)` are too noisy compared with full precision; None if they are not."""
    signal, noise = float(exact.std()), float((exact - rough).std())
    if noise <= _LARGEST_NOISE * signal:
        return None
    return f"half precision would add noise of {noise:.2g} to a signal of {signal:.2g} (standard deviations)"
