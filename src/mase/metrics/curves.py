"""Probabilities of the target while words are masked in order: the common part of most masking metrics."""

import numpy as np

from mase.arrays import Bools, Floats
from mase.errors import ShapeError
from mase.metrics.masking import Masker
from mase.metrics.protocol import Instance

__all__ = ["area", "check_scores", "stepwise", "target_probabilities"]


def target_probabilities(instance: Instance, kept: Bools) -> Floats:
    """Return probabilities `(n,)` of the target for rows of kept words `(n, w)`.

    Raises
    ------
    ShapeError
        If the instance does not have one score per word.
    """
    check_scores(instance.masker, instance.scores)
    return instance.masker.probabilities(kept)[:, instance.target]


def check_scores(masker: Masker, scores: Floats) -> None:
    """Check that there is one score per word.

    Raises
    ------
    ShapeError
        If there is not.
    """
    if np.shape(scores) != (len(masker.words),):
        raise ShapeError(
            f"scores have shape {np.shape(scores)}, expected ({len(masker.words)},): one per word of the text"
        )


def stepwise(n_words: int) -> range:
    """Return how many words are masked at each of the `n_words` + 1 steps: 0, 1, ..., all."""
    return range(n_words + 1)


def area(values: Floats) -> float:
    """Return the area under a curve `(w + 1,)` over the share of words from 0 to 1, by the trapezoidal rule.

    Examples
    --------
    >>> area(np.array([1.0, 0.5, 0.0]))
    0.5
    """
    return float((values[1:] + values[:-1]).mean() / 2)
