"""Designs whose rows follow from the scores so far: focused rounds, and a close-up of the strongest units."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate

import numpy as np
from scipy.special import expit

from mase.arrays import Floats, Ints
from mase.defaults import check_integer
from mase.designs.masking import Hadamard, Independent
from mase.designs.placement import coins, every_under, single
from mase.errors import OptionError
from mase.solve.distributions import Components, Covariance, Mixture, TargetMixture
from mase.solve.problem import Design, Distribution, Sample

# Round to 6 digits before ranking, so that the noise of float32 does not order words.
_DIGITS = 6

# The shares of the kinds of rows that each effect stands for: fair coins, rows that mask every word with the
# probability `p_high`, rows that mask the strong words, and rows that keep them. Chosen on validation texts.
_SHARES = {"removed": (0.1, 0.3, 0.6, 0.0), "kept": (0.1, 0.0, 0.3, 0.6)}


@dataclass(frozen=True, slots=True)
class Focused(Design):
    """Bernoulli rows in rounds, the later of which mask high-scoring words more often.

    Half of the first round masks every word with probability 1/2, and the other half with probability p_high. After
    each round the words are ranked by their scores so far. In the next round, the word of rank r (from 0) is masked
    with probability p_low + (p_high - p_low) / (1 + exp((r - n_top) / softness)). Words with equal scores share the
    mean of their probabilities. All rounds together form one regression.

    If several words carry redundant evidence, rows close to the full text rarely show the effect of any of them,
    because another one is still kept. Fair coins keep one of six such words in all rows but one of 64; that is what the
    other half of the first round is for.

    Which words are masked together depends on the rows that were drawn first. So the coefficients of `KernelRidge`,
    and the exact ones, are those of ever more rows that all go by these coefficients themselves. There are two kinds of
    such rows, which ask two questions, and so a word has two effects:

    - ``removed``, what is lost without the word: most of the rows mask the other strong words, and keep the weak ones.
    - ``kept``, what the word brings with it: most of the rows mask the weak words, and keep the other strong ones.

    Where several rankings would confirm themselves, the rows are a mean over them. Other estimators take the rows as
    they were drawn, and have one effect.

    Parameters
    ----------
    rounds
        Number of rounds of equal size.
    n_top
        Number of words that are masked most of the time, at most a third of the words of the text.
    p_high, p_low
        Mask rates of the highest and the lowest words of a long text. Short texts do not reach them: of nine words the
        highest is masked with probability 0.75 and the lowest with 0.16.
    softness
        Number of ranks over which the mask rate falls (the scale of a logistic curve).
    complement
        The share of the rows of later rounds that mask each word with the complementary probability: they mostly keep
        the words with high scores, and mask the others.
    sparse
        The share of the rows of the first round that mask every word with the probability `p_high` instead of 1/2.
    n_draws
        Number of rankings over which the mask rates of a round are averaged: each ranks scores that are drawn from
        normal distributions about the scores so far, with half of their standard errors. 0 ranks these
        scores themselves.
    effect
        Which of the two effects is the score: "removed" or "kept". The other one is reported beside it.
    """

    rounds: int = 4
    n_top: int = 15
    p_high: float = 0.9
    p_low: float = 0.1
    softness: float = 2.0
    complement: float = 0.25
    sparse: float = 0.5
    n_draws: int = 16
    effect: str = "removed"

    def __post_init__(self) -> None:
        for name, least in (("rounds", 1), ("n_top", 1), ("n_draws", 0)):
            check_integer(name, getattr(self, name), least)
        if not 0 < self.softness < np.inf:
            raise OptionError(f"softness is {self.softness}, expected a finite number > 0")
        for name in ("complement", "sparse"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(f"{name} is {getattr(self, name)}, expected a number from 0 to 1")
        if self.effect not in _SHARES:
            raise OptionError(f"effect is {self.effect!r}, expected {' or '.join(map(repr, _SHARES))}")
        if not 0 < self.p_low <= self.p_high < 1:
            raise OptionError(f"p_low is {self.p_low} and p_high is {self.p_high}, expected 0 < p_low <= p_high < 1")

    def distribution(self, scale: Floats) -> Distribution:
        """Return fair coins. All deviations are from their mean; `components` says how each row was drawn."""
        p = np.count_nonzero(scale)
        return Distribution(0.5, Covariance(np.full(p, 0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return n rows; given coefficients gamma so far, mask words with high coefficients more often.

        They are `(p,)`, or d draws of them `(d, p)`.
        """
        if gamma is None:
            # Whoever takes the first rows alone, or draws few at a time, gets the same share.
            component = np.diff(np.floor(np.arange(n + 1) * self.sparse + rng.random())).astype(np.int64)
            kept_rates = self._first(distribution.covariance.size)
        else:
            rates = self._rates(np.atleast_2d(gamma)).mean(axis=0)
            component = (np.arange(n) >= n - round(self.complement * n)).astype(np.int64)
            kept_rates = np.stack([1 - rates, rates])
        kept = (rng.random((n, kept_rates.shape[1])) >= 1 - kept_rates[component]).astype(np.float64)
        components = Components(np.equal.outer(np.arange(len(kept_rates)), component).astype(np.float64), kept_rates)
        sample = single(kept - distribution.center, distribution)
        return replace(
            sample,
            components=components.rows(slice(None)),
            target_mixture=self.target_mixture,
            other_effects=self.other_effects,
        )

    def _first(self, p: int) -> Floats:
        """Return the probabilities `(2, p)` that words are kept in the two components of the first round."""
        return np.outer([0.5, 1 - self.p_high], np.ones(p))

    def exhaustive(self, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return all rows of a round, weighted by their probabilities in it."""
        if gamma is None:
            share, kept_rates = self.sparse, self._first(distribution.covariance.size)
        else:
            rates = self._rates(gamma[None])[0]
            share, kept_rates = self.complement, np.stack([1 - rates, rates])
        return every_under(Components(np.array([[1 - share], [share]]), kept_rates), distribution)

    def every(self, distribution: Distribution, components: Components) -> Sample:
        """Return all rows, weighted by their probabilities under components that each have a share of a row."""
        return every_under(components, distribution)

    def target_mixture(self, gamma: Floats) -> list[Mixture]:
        """Return the mixture of components that each of w scores `(w, p)` stands for."""
        return self._components(self.effect, gamma)

    @property
    def other_effects(self) -> Mapping[str, TargetMixture]:
        """The components that the other effect stands for."""
        return {name: partial(self._components, name) for name in _SHARES if name != self.effect}

    def _components(self, effect: str, gamma: Floats) -> list[Mixture]:
        """Return the mixture of components that each of w effects `(w, p)` stands for."""
        shares, rates, every = np.array(_SHARES[effect]), self._rates(gamma), np.ones(gamma.shape)
        kept = np.stack([0.5 * every, (1 - self.p_high) * every, 1 - rates, rates], axis=1)[:, shares > 0]
        of_words = np.outer(shares[shares > 0], every[0])
        return [Mixture(of_words, item) for item in kept]

    def _rates(self, gamma: Floats) -> Floats:
        """Return the probability of each word to be masked `(d, p)` for d rankings, by coefficients `(d, p)`."""
        p = gamma.shape[1]
        of_rank = expit((min(self.n_top, p / 3) - np.arange(p)) / self.softness)
        return self.p_low + (self.p_high - self.p_low) * by_rank(gamma, of_rank[None])[:, 0]


def by_rank(gamma: Floats, values: Floats) -> Floats:
    """Return what words have by their ranks `(d, k, p)` in d rankings by coefficients `(d, p)`, of k values `(k, p)`.

    Words with equal coefficients share the mean of their values.
    """
    d, p = gamma.shape
    largest = np.abs(gamma).max(axis=1, keepdims=True)
    rounded = np.round(-gamma / np.where(largest > 0, largest, 1.0), _DIGITS)
    order = np.argsort(rounded, axis=1)
    ranked, result = np.take_along_axis(rounded, order, axis=1), np.empty((d, len(values), p))
    in_order = np.broadcast_to(values, result.shape)
    ties = ranked[:, 1:] == ranked[:, :-1]
    if ties.any():
        group = np.cumsum(np.insert(~ties, 0, True, axis=1).ravel()) - 1  # a new ranking begins a group as well
        means = [(np.bincount(group, np.tile(some, d)) / np.bincount(group))[group].reshape(d, p) for some in values]
        in_order = np.stack(means, axis=1)
    np.put_along_axis(result, order[:, None], in_order, axis=2)
    return result


# The share of the words that counts as strong.
_STRONG = 1 / 3


@dataclass(frozen=True, slots=True)
class CloseUp(Design):
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

    def ends(self, n: int) -> list[int]:
        """Return the number of rows at the end of each round."""
        return [math.ceil(n * share) for share in accumulate(self.shares)]

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
