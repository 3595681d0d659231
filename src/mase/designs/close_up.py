"""Fair coins, and then a close-up of the strongest words: rows that mask no others."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.designs.hadamard import Hadamard
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
    fewer subsets than the round has rows, and fewer than the round has rows. Both rounds together form one regression.

    The coefficients are the average effect of a word in rows with half of the words masked, and, for the strongest, in
    rows close to the full text as well. These decide what is lost when only the strongest words are masked. With all
    subsets of the words, the second round has all words, and the coefficients are those of `Bernoulli`.

    Parameters
    ----------
    share
        The share of the rows that are in the second round.
    """

    share: float = 0.25
    rounds: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise OptionError(f"share is {self.share!r}, expected a number between 0 and 1")

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
            return Hadamard().draw(rng, n, distribution)
        strongest = _strongest(gamma, n)
        kept = np.ones((n, len(gamma)))
        some = Hadamard().distribution(np.ones(len(strongest)))
        kept[:, strongest] = Hadamard().draw(rng, n, some).coordinates
        rates = np.where(np.isin(np.arange(len(gamma)), strongest), 0.5, 1.0)
        return coins(single(kept - distribution.center, distribution), rates, independent=False)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows, equally weighted."""
        return Hadamard().exhaustive(distribution)


def _strongest(gamma: Floats, n: int) -> Ints:
    """Return the words of the highest coefficients `(p,)` for a round of n rows."""
    p = len(gamma)
    k = max(int(_STRONG * p), (n - 1).bit_length())
    return np.argsort(-gamma, kind="stable")[: max(1, min(k, n - 1, p))]
