"""The laws that rows of zeros and ones stand for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import block_diag

from mase.arrays import Bools, Floats, Ints, equal_fields

__all__ = ["Aim", "Laws", "Mixture", "self_consistent"]


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
    """

    shares: Floats
    rates: Floats
    independent: bool = True

    __eq__ = equal_fields

    @classmethod
    def one(cls, n: int, rates: Floats, *, independent: bool = True) -> Self:
        """Return the law of n rows that have the same rates `(p,)`."""
        return cls(np.ones((1, n)), np.asarray(rates)[None], independent)

    @property
    def groups(self) -> Ints | None:
        """The intercept of each row `(n,)`; None if there is only one."""
        return None if len(self.shares) == 1 else self.shares.argmax(axis=0)

    def mixture(self) -> "Mixture":
        """Return the mixture of the laws in which they have their shares of all rows, for every coordinate."""
        return Mixture(np.repeat(self.shares.mean(axis=1)[:, None], self.rates.shape[1], axis=1), self.rates)

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
        return replace(self, shares=shares, rates=rates, independent=self.independent and other.independent)


@dataclass(frozen=True, slots=True)
class Mixture:
    """m laws, of which each coordinate has shares of its own: a score is a mean over the laws by these shares.

    Attributes
    ----------
    shares
        `(m, p)`: the share of each law in what the score of a coordinate stands for. Columns sum to 1.
    rates
        `(m, p)`: the probability that a coordinate is 1.
    """

    shares: Floats
    rates: Floats

    __eq__ = equal_fields

    @property
    def laws(self) -> Laws:
        """The laws with their mean shares, as those of one row."""
        return Laws(self.shares.mean(axis=1)[:, None], self.rates)

    def pulls(self, rows: Floats) -> Floats:
        """Return what the response to each of all rows of zeros and ones `(2^p, p)` adds to coefficients `(2^p, p)`.

        They are those of least squares on rows of the laws, each with an intercept of its own. A coordinate that never
        varies has the coefficient 0.
        """
        found, variances = np.zeros(rows.shape), np.zeros(rows.shape[1])
        for shares, rates in zip(self.shares, self.rates, strict=True):
            chances = np.where(rows == 1, rates, 1 - rates).prod(axis=1)
            found += shares * chances[:, None] * (rows - rates)
            variances += shares * rates * (1 - rates)
        return np.divide(found, variances, out=np.zeros_like(found), where=variances > 0)

    def towards(self, other: "Mixture", part: float) -> "Mixture":
        """Return the mixture that is this one but for a part of the way to another one."""
        shares, rates = self.shares, self.rates
        return Mixture(shares + part * (other.shares - shares), rates + part * (other.rates - rates))


# Returns the mixture that each of w scores `(w, p)` stands for.
Aim = Callable[[Floats], Sequence[Mixture]]

# Steps to a mixture that follows from its own scores.
_STEPS = 4


def self_consistent(
    first: Mixture, mixture_of: Callable[[Floats], Mixture], scores_under: Callable[[Mixture], Floats]
) -> Mixture:
    """Return a mixture that follows from the scores `(p,)` under it, found from a first mixture on.

    The mixture of a step is the mean of those that followed in all steps before (fictitious play, Brown 1951). So where
    two words change places with each step, both get the mean. Several mixtures may follow from their own scores.
    From that of equal scores on, words that may be exchanged keep equal ones.
    """
    mixture = first
    for step in range(1, _STEPS + 1):
        mixture = mixture.towards(mixture_of(scores_under(mixture)), 1 / step)
    return mixture
