"""The laws that rows of zeros and ones stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import block_diag

from mase.arrays import Bools, Floats, Ints

__all__ = ["Aim", "Laws", "settled"]


@dataclass(frozen=True, slots=True)
class Laws:
    """m laws, under each of which every coordinate is a coin: 1 with a probability of its own, else 0.

    Attributes
    ----------
    shares
        `(m, n)`: the share of each row's weight that is due to each law. Columns sum to 1.
    rates
        `(m, p)`: the probability that a coordinate is 1.
    independent
        Whether rows are drawn from their law, and the coins of different coordinates and rows are independent. Those of
        a Hadamard matrix are not.
    pooled
        Whether a regression has one intercept for all rows. Otherwise each law has its own.
    """

    shares: Floats
    rates: Floats
    independent: bool = True
    pooled: bool = False

    @classmethod
    def one(cls, n: int, rates: Floats, *, independent: bool = True, pooled: bool = False) -> Self:
        """Return the law of n rows that have the same rates `(p,)`."""
        return cls(np.ones((1, n)), np.asarray(rates)[None], independent, pooled)

    @property
    def groups(self) -> Ints | None:
        """The intercept of each row `(n,)`; None if there is only one."""
        return None if self.pooled or len(self.shares) == 1 else self.shares.argmax(axis=0)

    def rows(self, chosen: slice | Bools | Ints) -> Self:
        """Return the laws of some of the rows, without those that none of them is due to."""
        shares = self.shares[:, chosen]
        used = shares.any(axis=1)
        return replace(self, shares=shares[used], rates=self.rates[used])

    def joined(self, more: "Laws") -> Self:
        """Return the laws of these rows followed by those of others."""
        return self._with(more, np.asarray(block_diag(self.shares, more.shares)))

    def mixed(self, weights: Floats, other: "Laws", weights_of_other: Floats) -> Self:
        """Return the laws of the same rows, with weights `(n,)` under each, whose sum is their weight."""
        shares = np.concatenate([self.shares * weights, other.shares * weights_of_other])
        return self._with(other, shares / (weights + weights_of_other))

    def _with(self, other: "Laws", shares: Floats) -> Self:
        rates = np.concatenate([self.rates, other.rates])
        independent, pooled = self.independent and other.independent, self.pooled or other.pooled
        return replace(self, shares=shares, rates=rates, independent=independent, pooled=pooled)


# Returns the laws that each of w scores `(w, p)` stands for.
Aim = Callable[[Floats], Sequence[Laws]]

# Steps to the laws that follow from their own scores.
_STEPS = 8


def settled(aim: Aim, under: Callable[[Sequence[Laws]], Floats], p: int, n_ways: int = 1) -> list[Laws]:
    """Return the laws that follow from the scores under them, beginning with those for p equal scores, on several ways.

    `under` returns the scores `(w, p)` on w ways. The laws of a step are the mean of those for the scores of all steps
    before (fictitious play, Brown 1951). So where two words change places with each step, both get the mean. Several
    laws may follow from their own scores. From equal scores on, words that may be exchanged keep equal ones.
    """
    ways = [*aim(np.zeros((1, p)))] * n_ways
    for step in range(2, _STEPS + 1):
        ways = [
            replace(laws, rates=laws.rates + (more.rates - laws.rates) / step)
            for laws, more in zip(ways, aim(under(ways)), strict=True)
        ]
    return ways
