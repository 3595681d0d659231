"""Designs that mask: Bernoulli, Hadamard, leave-one-out, and those of LIME."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import comb

from mase.arrays import Floats
from mase.designs.placement import coins, every_row, exchangeable, mirrored, pair_count, proximity, single, subsets
from mase.errors import OptionError, TooFewSamplesError
from mase.solve.distributions import Covariance
from mase.solve.problem import Design, Distribution, Sample


@dataclass(frozen=True, slots=True)
class Bernoulli(Design):
    """Bernoulli rows (mask rate 1/2), each with its complement: c and 1 - c are mirror images about 1/2."""

    def distribution(self, scale: Floats) -> Distribution:
        """Return the Bernoulli distribution with mask rate 1/2."""
        return Distribution(0.5, Covariance(np.full(np.count_nonzero(scale), 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        kept = rng.integers(0, 2, size=(pair_count(n), distribution.covariance.size)).astype(np.float64)
        return coins(mirrored(kept - 0.5, distribution))

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows in pairs, equally weighted."""
        kept = subsets(distribution.covariance.size)
        pairs = coins(mirrored(kept[: len(kept) // 2] - 0.5, distribution))
        return replace(pairs, divisible=False, exhaustive=True)


@dataclass(frozen=True, slots=True)
class Independent(Design):
    """Independent rows, in which each word is kept with probability `p_keep`.

    1/2 gives the rows of ContextCite (Cohen-Wang et al., arXiv 2409.00729). 1 / (1 + exp(-1 / sigma^2)) gives those of
    GLIME-Binomial with the kernel width sigma (Tan et al., arXiv 2311.15722): LIME's kernel
    exp(-(number of masked words) / sigma^2) is the probability of a row, and no longer its weight.
    """

    p_keep: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.p_keep < 1:
            raise OptionError(f"p_keep is {self.p_keep}, expected a number between 0 and 1")

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution of independent words."""
        spread = (self.p_keep * (1 - self.p_keep)) ** 0.5
        return Distribution(self.p_keep, Covariance(np.full(np.count_nonzero(scale), spread)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        kept = (rng.random((n, distribution.covariance.size)) < self.p_keep).astype(np.float64)
        return coins(single(kept - distribution.center, distribution), self.p_keep)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows with their probabilities."""
        kept = subsets(distribution.covariance.size)
        probabilities = np.where(kept == 1, self.p_keep, 1 - self.p_keep).prod(axis=1)
        return coins(every_row(kept, probabilities, distribution), self.p_keep)


@dataclass(frozen=True, slots=True)
class Hadamard(Design):
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


@dataclass(frozen=True, slots=True)
class LeaveOneOut(Design):
    """The p rows c = 1 - e_i, so that E[Z Z^T] = I / p: Theorem 1's formula gives gamma_i = F(1) - F(1 - e_i).

    Notes
    -----
    Proposition "occlusion" requires i to be uniform over the words for that second moment. Masking every word exactly
    once has the same moment without randomness. Its Z does not have mean zero, as Theorem 1 requires: the formula is
    used, but the theorem does not apply.
    """

    def distribution(self, scale: Floats) -> Distribution:
        """Return the second moments I / p about the text."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.full(p, p**-0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the p rows.

        Raises
        ------
        TooFewSamplesError
            If p is larger than n.
        """
        del rng
        p = distribution.covariance.size
        if n < p:
            raise TooFewSamplesError(
                f"n_samples leaves {n} for the scores, expected at least {p}: each of the {p} words is masked once; "
                "use a larger n_samples"
            )
        z = -np.eye(p)
        return Sample(1 + z, z, np.ones(p), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)


# Number of rows that stand for a sample without end. The text itself is one of them.
_MANY = 1e12


@dataclass(frozen=True, slots=True)
class Lime(Design):
    """The text itself, then rows with m masked words each, m uniform from 1 to p; weights sqrt(exp(-d^2 / width^2)).

    d is 100 times the cosine distance to the text, 1 - sqrt((p - m) / p). This follows `lime` 0.2.0.1 (`lime_text.py`),
    whose default width is 25. A coordinate here is a single occurrence of a word. With its option `bow` the package
    masks all occurrences of a word at once.
    """

    width: float = 25.0

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise OptionError(f"width is {self.width}, expected a finite number > 0")

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


@dataclass(frozen=True, slots=True)
class LimePaper(Design):
    """Bernoulli rows (mask rate 1/2) with weights pi = exp(-D^2 / width^2), D the cosine distance to the text.

    Proposition "LIME" gives no value for the width. 0.25 is the value of the `lime` package (25 in its units).
    """

    width: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.width < np.inf:
            raise OptionError(f"width is {self.width}, expected a finite number > 0")

    def distribution(self, scale: Floats) -> Distribution:
        """Return the Bernoulli distribution with mask rate 1/2."""
        p = np.count_nonzero(scale)
        return Distribution(0.5, Covariance(np.full(p, 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows."""
        kept = rng.integers(0, 2, size=(n, distribution.covariance.size)).astype(np.float64)
        weights = self._weights(kept)
        return Sample(kept, kept - distribution.center, weights, False, distribution.center, distribution.covariance)

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows, which are equally probable, with their weights."""
        kept = subsets(distribution.covariance.size)
        return every_row(kept, self._weights(kept), distribution)

    def _weights(self, kept: Floats) -> Floats:
        """Return the kernel weights `(n,)` of rows `(n, p)`."""
        return proximity(1 - np.sqrt(kept.mean(axis=1)), self.width)
