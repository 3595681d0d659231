"""Beam search over orders of words on the metric itself: the ceiling and the floor that explainers are held against."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.errors import OptionError
from mase.metrics.masking import Masker

__all__ = ["Goal", "best_order"]

Goal = Literal["area", "end"]


@dataclass(frozen=True, slots=True)
class _Beams:
    """The best b ways so far: words kept `(b, w)`, orders of those taken out `(b, i)`, sums of probabilities `(b,)`."""

    kept: Bools
    orders: Ints
    sums: Floats


def best_order(
    masker: Masker,
    target: int,
    *,
    beam: int = 5,
    depth: int | None = None,
    lowest: bool = True,
    goal: Goal = "area",
) -> Ints:
    """Return an order of words `(w,)` that, taken out one by one, brings the target's probability down as fast as was found.

    It looks at the metric itself, so that it is no explanation: it says what explanations could reach at best.

    Parameters
    ----------
    masker, target
        The text, the operator, and the class whose probability counts.
    beam
        How many orders are followed at each step; 1 is greedy. Two orders of the same words go on as the better one.
    depth
        After how many words to stop, all by default; the others follow in reading order.
    lowest
        Whether to bring the probability down, or (False) to hold it up.
    goal
        ``"area"``: the sum of probabilities over the steps so far (AOPC, Edin et al., arXiv 2408.08137);
        ``"end"``: the probability after each step alone, which suits Delta Accuracy.

    Notes
    -----
    Costs about beam x w evaluations per step: 16,000 for all of 80 words with a beam of 5.

    Raises
    ------
    OptionError
        If `beam` or `depth` is below 1, or the goal unknown.
    """
    if beam < 1 or (depth is not None and depth < 1):
        raise OptionError(f"beam is {beam} and depth {depth}, expected integers >= 1")
    if goal not in ("area", "end"):
        raise OptionError(f"goal is {goal!r}, expected 'area' or 'end'")
    w, sign = len(masker.words), 1.0 if lowest else -1.0
    beams = _Beams(np.ones((1, w), dtype=np.bool_), np.empty((1, 0), dtype=np.int64), np.zeros(1))
    for _ in range(w if depth is None else min(depth, w)):
        beams = _step(masker, target, beams, beam, sign, goal)
    first = beams.orders[0]
    return np.concatenate([first, np.flatnonzero(beams.kept[0])])


def _step(masker: Masker, target: int, beams: _Beams, beam: int, sign: float, goal: Goal) -> _Beams:
    """Take one more word out in every way that is left, and follow the best `beam` ways."""
    parents, taken = np.nonzero(beams.kept)
    kept = beams.kept[parents]
    kept[np.arange(len(taken)), taken] = False
    here = masker.probabilities(kept)[:, target]
    sums = beams.sums[parents] * (goal == "area") + here
    ranked = np.argsort(sign * sums, kind="stable")
    _, first = np.unique(
        np.packbits(kept[ranked], axis=1), axis=0, return_index=True
    )  # the best way to each set of words
    chosen = ranked[np.sort(first)[:beam]]
    orders = np.concatenate([beams.orders[parents[chosen]], taken[chosen, None]], axis=1)
    return _Beams(kept[chosen], orders, sums[chosen])
