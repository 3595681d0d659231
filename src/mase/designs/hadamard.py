"""Rows of Hadamard matrices: fair coins whose columns are orthogonal, so that words do not blur each other."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import coins, every_row, single, subsets
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["Hadamard"]


@dataclass(frozen=True, slots=True)
class Hadamard:
    """Rows of zeros and ones in blocks, each the rows of a Hadamard matrix in random order.

    A block has 2^m rows, the smallest such number above p. Each second block is the mirror image 1 - c of the one
    before. Columns are drawn at random, and each is flipped with probability 1/2. So every single row has the
    distribution of p fair coins, and the coefficients converge to those of `Bernoulli`. In a whole block, however, each
    word is masked in half of the rows and each pair of words in a quarter. The effects of other words then cancel,
    where among independent rows they add to the error. In a block and its mirror image, effects of pairs of words
    cancel as well.

    Notes
    -----
    These are the two-level factorial designs of Plackett and Burman (1946), folded over (Box and Wilson 1951). With
    fewer rows than a block the columns are not orthogonal, but closer to it than those of independent rows.
    """

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the Bernoulli distribution with mask rate 1/2."""
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        p = distribution.covariance.size
        blocks, missing = [], n
        while missing > 0:
            block = _block(rng, p)
            blocks += [block, 1 - block]
            missing -= 2 * len(block)
        rows = single(np.concatenate(blocks)[:n] - distribution.center, distribution)
        return coins(rows, independent=False)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows, equally weighted."""
        kept = subsets(distribution.covariance.size)
        return coins(every_row(kept, np.ones(len(kept)), distribution))


def _block(rng: np.random.Generator, p: int) -> Floats:
    """Return p random columns of a Hadamard matrix, without that of equal entries, with random signs `(2^m, p)`.

    By Sylvester's construction, the entry of row i and column j is (-1) to the number of ones in i & j.
    """
    order = 1 << p.bit_length()
    rows, columns = rng.permutation(order), 1 + rng.permutation(order - 1)[:p]
    kept = np.bitwise_count(rows[:, None] & columns) & 1
    return np.asarray(kept ^ rng.integers(0, 2, p), dtype=np.float64)
