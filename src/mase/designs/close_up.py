"""Fair coins, and then a close-up of the strongest words: rows that mask no others."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats, Ints
from mase.designs.hadamard import Hadamard
from mase.designs.independent import Independent
from mase.designs.placement import coins, single
from mase.errors import OptionError
from mase.regression.problem import Distribution, Sample

__all__ = ["CloseUp"]

# The share of the words that counts as strong.
_STRONG = 1 / 3


@dataclass(frozen=True, slots=True)
class CloseUp:
    """Rows of Hadamard matrices over all words, and in a second round over the strongest alone, with the rest in place.

    The words of the second round are those with the highest scores so far: a third of the words, or more if a third has
    fewer subsets than the round has rows, and fewer than the round has rows. Both rounds together form one regression,
    with an intercept for each round.

    Rows close to the full text decide what is lost when only the strongest words are masked. The rows of the second
    round stand for such rows: those that keep every word with probability `p_keep`. So the coefficients of
    `KernelRidge`, and those of all subsets of the words, are the average effect of a word in rows with half of the
    words masked and in such rows, and do not depend on which words came first. Other estimators take the rows as they
    are.

    Parameters
    ----------
    share
        The share of the rows that are in the second round.
    p_keep
        The probability of each word to be kept in the rows that the second round stands for.
    """

    share: float = 0.25
    p_keep: float = 0.85
    rounds = 2

    def __post_init__(self) -> None:
        for name, value in (("share", self.share), ("p_keep", self.p_keep)):
            if not 0 < value < 1:
                raise OptionError(f"{name} is {value!r}, expected a number between 0 and 1")

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each round."""
        return 1 - self.share, self.share

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of the first round: Bernoulli with mask rate 1/2."""
        return Hadamard().distribution(scale)

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows; given the coefficients gamma `(p,)` so far, mask the words of the highest alone."""
        if gamma is None:
            rows = Hadamard().draw(rng, n, distribution)
            return coins(rows, independent=False)
        strongest = _strongest(gamma, n)
        kept = np.ones((n, len(gamma)))
        some = Hadamard().distribution(np.ones(len(strongest)))
        kept[:, strongest] = Hadamard().draw(rng, n, some).coordinates
        return coins(single(kept - distribution.center, distribution), self.p_keep, independent=False)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows, weighted by their probabilities in those that a round stands for."""
        p_keep = 0.5 if gamma is None else self.p_keep
        return coins(Independent(p_keep).exhaustive(distribution), p_keep)


def _strongest(gamma: Floats, n: int) -> Ints:
    """Return the words of the highest coefficients `(p,)` for a round of n rows."""
    p = len(gamma)
    k = max(int(_STRONG * p), (n - 1).bit_length())
    return np.argsort(-gamma, kind="stable")[: max(1, min(k, n - 1, p))]
