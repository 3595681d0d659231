"""Rows of varied ids, by which the kind of the scores of a model of token ids is recognised."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import ShapeError
from mase.text import Tokens

__all__ = ["trial_rows", "trial_scores"]

_N_ROWS, _N_LENGTHS = 8, 4
_FEWEST = 3  # different words of a text that are varied


def trial_rows(tokens: Tokens, vocabulary: Collection[int] = ()) -> Iterator[Ints]:
    """Yield four batches of ids `(8, t)` with random ones of a text's tokens, each one shorter if it can be.

    A function that does not read the order would give the same number for each order of the same tokens. Fixed tokens
    keep their places. If nearly all words of the text are unknown, ids of the `vocabulary` take their place.
    """
    ids, fixed = np.array(tokens.ids, dtype=np.int64), np.array(tokens.fixed)
    rng = np.random.default_rng(0)
    words = ids[~fixed] if not fixed.all() else ids
    if len(set(words.tolist())) < _FEWEST and vocabulary:
        words = np.array(sorted(vocabulary), dtype=np.int64)
    for n_less in range(_N_LENGTHS):
        left = np.delete(np.arange(len(ids)), np.flatnonzero(~fixed)[1:][:n_less])
        drawn = rng.choice(words, size=(_N_ROWS, len(left)))
        yield np.where(fixed[left], ids[left], drawn)


def trial_scores(
    run: Callable[[Ints, Ints | None], Any], tokens: Tokens, owner: str, vocabulary: Collection[int] = ()
) -> Floats:
    """Return what a function returns `(32, k)` for the rows of a text; its types are 0 if the tokens have types.

    Raises
    ------
    ShapeError
        If it does not return one row of scores per row of ids, always with the same number of columns.
    """
    found: list[Floats] = []
    for ids in trial_rows(tokens, vocabulary):
        raw = np.asarray(run(ids, None if tokens.types is None else np.zeros_like(ids)), dtype=np.float64)
        raw = raw[:, None] if raw.ndim == 1 else raw
        k = found[0].shape[1] if found and raw.ndim == 2 else "k"
        if raw.ndim != 2 or len(raw) != len(ids) or not raw.shape[1] or k not in ("k", raw.shape[1]):
            raise ShapeError(
                f"{owner} returned scores of shape {raw.shape} for ids of shape {ids.shape}, expected ({len(ids)}, "
                f"{k}): one row per text, one column per class"
            )
        found.append(raw)
    return np.concatenate(found)
