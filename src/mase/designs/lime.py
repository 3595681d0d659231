"""The rows of the `lime` package: a uniform number of masked words, and larger weights closer to the text."""

from dataclasses import dataclass

import numpy as np
from scipy.special import comb

from mase.arrays import Floats
from mase.designs.placement import every_row, exchangeable, proximity, subsets
from mase.errors import OptionError
from mase.regression.problem import Distribution, Sample

__all__ = ["Lime"]

# Number of rows that stand for a sample without end. The text itself is one of them.
_MANY = 1e12


@dataclass(frozen=True, slots=True)
class Lime:
    """The text itself, then rows with m masked words each, m uniform from 1 to p; weights sqrt(exp(-d^2 / width^2)).

    d is 100 times the cosine distance to the text, 1 - sqrt((p - m) / p). This follows `lime` 0.2.0.1 (`lime_text.py`),
    whose default width is 25. A coordinate here is a single occurrence of a word. With its option `bow` the package
    masks all occurrences of a word at once.
    """

    width: float = 25.0

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise OptionError(f"width is {self.width}, expected a finite number > 0")

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of a row with m masked words, m uniform from 1 to p."""
        p = int(np.count_nonzero(scale))
        return exchangeable(p, np.arange(p), np.ones(p))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows, the first of which is the text."""
        p = distribution.covariance.size
        removed = np.concatenate([[0], rng.integers(1, p + 1, size=n - 1)])
        ranks = np.argsort(np.argsort(rng.random((n, p)), axis=1), axis=1)
        kept = (ranks >= removed[:, None]).astype(np.float64)
        return Sample(
            kept, kept - distribution.center, self.weights(kept), False, distribution.center, distribution.covariance
        )

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows with their weights in a sample of 10^12 rows, the first of which is the text.

        The text counts for next to nothing, except that a single word has no other row in which it is kept.
        """
        p = distribution.covariance.size
        kept = subsets(p)
        n_kept = kept.sum(axis=1)
        counts = np.where(n_kept < p, _MANY / (p * comb(p, n_kept)), 1.0)
        return every_row(kept, counts * self.weights(kept), distribution)

    def weights(self, kept: Floats) -> Floats:
        """Return the kernel weights `(n,)` of rows `(n, p)`."""
        return np.sqrt(proximity(100 * (1 - np.sqrt(kept.mean(axis=1))), self.width))
