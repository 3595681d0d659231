"""The rounds of a design: how many rows each of them has."""

import math
from itertools import accumulate
from typing import Protocol, runtime_checkable

from mase.regression.design import Design

__all__ = ["UnevenDesign", "cycle", "ends", "shares"]


@runtime_checkable
class UnevenDesign(Design, Protocol):
    """A design whose rounds differ in size.

    Attributes
    ----------
    shares
        The share of the rows of each round, in order.
    """

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each round."""
        ...


def shares(design: Design) -> tuple[float, ...]:
    """Return the share of the rows of each round."""
    return design.shares if isinstance(design, UnevenDesign) else (1 / design.rounds,) * design.rounds


def ends(design: Design, n: int) -> list[int]:
    """Return the number of rows at the end of each round when n rows are split into rounds."""
    if isinstance(design, UnevenDesign):
        return [math.ceil(n * share) for share in accumulate(design.shares)]
    size = -(-n // design.rounds)
    return [size * done for done in range(1, design.rounds + 1)]


def cycle(design: Design, done: int, goal: int) -> list[int]:
    """Return the number of rows at the end of each round when all rounds are asked once more, from `done` to `goal`.

    A goal of few more rows may have fewer rounds.
    """
    return sorted({done + min(end, goal - done) for end in ends(design, goal - done)})
