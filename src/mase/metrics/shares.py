"""Shares of ones among the values of texts, some of which have no value; and batches of texts."""

from collections.abc import Sequence

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.metrics.intervals import Difference, Summary, paired_share, summary_of_share
from mase.scalars import is_integer

__all__ = ["check_batches", "known_paired_share", "known_share"]


def check_batches(batches: Sequence[Sequence[int]] | None, n_texts: int) -> None:
    """Check that batches are lists of indices of `n_texts` texts; None is no batches.

    Raises
    ------
    OptionError
        If they are something else.
    """
    try:
        valid = batches is None or all(is_integer(i) and 0 <= i < n_texts for batch in batches for i in batch)
    except TypeError:
        valid = False
    if not valid:
        raise OptionError(
            f"batches is {batches!r:.80}, expected lists of indices of the {n_texts} texts, as in [[0, 1], [2, 3]]"
        )


def known_share(values: Floats, batches: Sequence[Sequence[int]] | None) -> Summary | None:
    """Return the share of ones among the values `(n,)`; NaN is left out, also from the batches."""
    known = ~np.isnan(values)
    if not known.any():
        return None
    new_index = np.cumsum(known) - 1
    kept = None if batches is None else [new_index[[index for index in batch if known[index]]] for batch in batches]
    return summary_of_share(
        values[known] == 1, None if kept is None else [batch.tolist() for batch in kept if len(batch)]
    )


def known_paired_share(first: Floats, second: Floats) -> Difference | None:
    """Return the difference of the shares of ones, over the texts for which both have a value `(n,)`."""
    known = ~np.isnan(first - second)
    return paired_share(first[known] == 1, second[known] == 1) if known.any() else None
