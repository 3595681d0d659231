"""Beam search for the order of words that is best for a metric: an upper bound for all explanations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.errors import OptionError
from mase.metrics.masking import Masker
from mase.scalars import check_integer

__all__ = ["Goal", "Step", "best_order", "steps"]

Goal = Literal["area", "end"]


@dataclass(frozen=True, slots=True)
class Step:
    """The c distinct sets of i masked words that step i of the search reached, the best set first.

    Attributes
    ----------
    kept
        `(c, w)`: the words that are kept.
    orders
        `(c, i)`: the masked words, in the best order that was found.
    probabilities
        `(c, k)`: class probabilities of the masked text.
    objectives
        `(c,)`: what the search minimises or maximises.
    """

    kept: Bools
    orders: Ints
    probabilities: Floats
    objectives: Floats


def steps(masker: Masker, target: int, *, beam: int = 5, lowest: bool = True, goal: Goal = "area") -> Iterator[Step]:
    """Yield each step of a beam search, until all words are masked. The parameters are those of `best_order`.

    Raises
    ------
    OptionError
        If `beam` is below 1, or the goal is unknown.
    """
    beam = check_integer("beam", beam, 1)
    if goal not in ("area", "end"):
        raise OptionError(f"goal is {goal!r}, expected 'area' or 'end'")
    w = len(masker.words)
    start = Step(np.ones((1, w), np.bool_), np.empty((1, 0), np.int64), masker.text_probabilities[None], np.zeros(1))
    return _search(masker, target, start, beam, 1.0 if lowest else -1.0, goal)


def best_order(
    masker: Masker,
    target: int,
    *,
    beam: int = 5,
    depth: int | None = None,
    lowest: bool = True,
    goal: Goal = "area",
) -> Ints:
    """Return the order of words `(w,)`, found by beam search, that decreases the target's probability fastest.

    The search optimises the metric itself. Its result is therefore not an explanation, but an upper bound (by search)
    for explanations.

    Parameters
    ----------
    masker, target
        The text with its masking operator, and the class whose probability counts.
    beam
        Number of orders that each step keeps; 1 is greedy. Of several orders of the same words only the best is kept.
    depth
        Number of words after which to stop, all by default. The other words follow in reading order.
    lowest
        Whether to minimise the probability; False maximises it.
    goal
        What to optimise. ``"area"``: the sum of probabilities over the steps so far (AOPC, Edin et al., arXiv
        2408.08137). ``"end"``: the probability after the last step, for Delta Accuracy.

    Notes
    -----
    Costs about beam x w evaluations per step: 16,000 for a text of 80 words with a beam of 5.

    Raises
    ------
    OptionError
        If `beam` or `depth` is below 1, or the goal is unknown.
    """
    if depth is not None:
        check_integer("depth", depth, 1)
    *_, last = islice(steps(masker, target, beam=beam, lowest=lowest, goal=goal), depth)
    return np.concatenate([last.orders[0], np.flatnonzero(last.kept[0])])


def _search(masker: Masker, target: int, step: Step, beam: int, sign: float, goal: Goal) -> Iterator[Step]:
    for _ in range(len(masker.words)):
        step = _next_step(masker, target, step, sign, goal)
        yield step
        step = Step(step.kept[:beam], step.orders[:beam], step.probabilities[:beam], step.objectives[:beam])


def _next_step(masker: Masker, target: int, step: Step, sign: float, goal: Goal) -> Step:
    """Mask each of the remaining words in turn; of several orders of the same words keep the best."""
    parents, masked = np.nonzero(step.kept)
    kept = step.kept[parents]
    kept[np.arange(len(masked)), masked] = False
    probabilities = masker.probabilities(kept)
    objectives = step.objectives[parents] * (goal == "area") + probabilities[:, target]
    ranked = np.argsort(sign * objectives, kind="stable")
    _, first = np.unique(np.packbits(kept[ranked], axis=1), axis=0, return_index=True)
    chosen = ranked[np.sort(first)]
    orders = np.concatenate([step.orders[parents[chosen]], masked[chosen, None]], axis=1)
    return Step(kept[chosen], orders, probabilities[chosen], objectives[chosen])
