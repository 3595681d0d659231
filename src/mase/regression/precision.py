"""How to ask a model: rows per forward pass, and half precision, tried on a few rows before it is trusted."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mase.arrays import Floats
from mase.choices import PRECISIONS, Precision
from mase.errors import OptionError
from mase.models.batching import check_batch_size

__all__ = ["AUTO", "NO_INSTRUCTIONS", "Precision", "QueryOptions", "too_noisy", "trial_rows"]

# Rows on which half precision is tried, and the share of the signal that its noise may have.
_TRIAL_ROWS, _LARGEST_NOISE = 16, 0.1
NO_INSTRUCTIONS: str | None = "this processor has no instructions for bfloat16, where half precision is the slower"


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """How to ask a model.

    Parameters
    ----------
    batch_size
        Rows per forward pass, or "auto": what suits the model and the length of the text. The same settings on the same
        machine and versions give the same scores to the last bit; another size changes them by rounding (up to 3e-7 of
        the largest, with one row at a time).
    precision
        "float32", or "bfloat16": half precision where the processor is made for it and its noise on 16 rows is small; a
        note says where float32 was used instead.

    Raises
    ------
    OptionError
        If one of them is something else.
    """

    batch_size: int | Literal["auto"] = "auto"
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        check_batch_size(self.batch_size)
        if self.precision not in PRECISIONS:
            raise OptionError(f"precision is {self.precision!r}, expected one of {', '.join(PRECISIONS)}")

    @property
    def rows(self) -> int | None:
        """Rows per forward pass, None for what suits the model."""
        return check_batch_size(self.batch_size)


AUTO = QueryOptions()


def trial_rows(rows: Floats | None, p: int) -> Floats:
    """Return the rows `(n, p)` to try half precision on: the first of a question's, or fair coins where these are too few."""
    if rows is not None and len(rows) >= _TRIAL_ROWS:
        return rows[:_TRIAL_ROWS]
    return np.random.default_rng(0).integers(0, 2, size=(_TRIAL_ROWS, p)).astype(np.float64)


def too_noisy(exact: Floats, rough: Floats) -> str | None:
    """Return why responses `(n,)` in half precision are too rough, beside those in full precision; None if they are not."""
    signal, noise = float(exact.std()), float((exact - rough).std())
    if noise <= _LARGEST_NOISE * signal:
        return None
    return f"half precision would add noise of {noise:.2g} to a signal of {signal:.2g}"
