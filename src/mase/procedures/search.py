"""Beam search for the order of words whose removal lowers the response fastest; greedy search is a beam of one."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Bools, Floats, Ints
from mase.attribution.response import Note
from mase.defaults import check_integer
from mase.errors import TooFewSamplesError
from mase.solve.distributions import no_scatter
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate
from mase.solve.strategy import Solution, Stopping, Strategy

_MESSAGE = (
    "scores are places in an order of removal and no effects, so they have no standard errors; use method='mase' for "
    "the effects of words"
)
_CONSTANT = "no set of words that was masked changed the model's response: the order is that of the text"


@dataclass(frozen=True, slots=True)
class _Beam:
    """The b sets of i words that a search has masked, the best one first.

    Attributes
    ----------
    kept
        `(b, p)`: the words that are not masked.
    orders
        `(b, i)`: the masked words, in the best order that was found.
    responses, totals
        `(b,)`: the response with the set masked, and the sum of the responses on the way to it.
    drops
        `(b, p)`: by how much masking each word lowered the response when this was last asked on the way to the set.
    """

    kept: Bools
    orders: Ints
    responses: Floats
    totals: Floats
    drops: Floats

    @classmethod
    def of_text(cls, oracle: Oracle) -> Self:
        """Return the beam of the text itself, in which no word is masked."""
        p = oracle.size
        kept, orders = np.ones((1, p), np.bool_), np.empty((1, 0), np.int64)
        return cls(kept, orders, np.array([oracle.text]), np.zeros(1), np.zeros((1, p)))

    def extended(self, oracle: Oracle, width: int, most: int) -> tuple[Self, int]:
        """Return the `width` best sets of one word more, and how many were asked: at most `most`.

        If there are more sets, those are asked that would be best if the drops were as before.
        """
        parents, words = np.nonzero(self.kept)
        kept = self.kept[parents]
        kept[np.arange(len(words)), words] = False
        expected = self.totals[parents] + self.responses[parents] - self.drops[parents, words]
        _, first, of_set = np.unique(kept, axis=0, return_index=True, return_inverse=True)
        best = np.full(len(first), np.inf)
        np.minimum.at(best, of_set, expected)
        asked = np.sort(np.argsort(best, kind="stable")[:most])
        responses = np.full(len(first), np.inf)
        responses[asked] = oracle.responses(kept[first[asked]].astype(np.float64))
        reached, known = responses[of_set], np.isfinite(responses[of_set])
        drops = self.drops.copy()
        drops[parents[known], words[known]] = self.responses[parents[known]] - reached[known]
        chosen = _distinct(np.argsort(self.totals[parents] + reached, kind="stable"), of_set)[: min(width, len(asked))]
        orders = np.column_stack([self.orders[parents[chosen]], words[chosen]])
        totals = self.totals[parents[chosen]] + reached[chosen]
        return type(self)(kept[chosen], orders, reached[chosen], totals, drops[parents[chosen]]), len(asked)


@dataclass(frozen=True, slots=True)
class BeamSearch(Strategy):
    """The order in which masking the words lowers the response fastest: its sum over all steps is to be smallest.

    Each step extends the `beam` best sets of masked words by every other word; 1 is greedy. Of several orders of the
    same words only the best is kept. Where the budget does not allow for all sets, a step asks about the most promising
    ones: a multiple of what greedy search would ask that the budget allows in all steps, or just as many. If it ends
    before all words are masked, the rest follow by the drop in response when each was last masked on the way.

    From one word to the next the score falls by 1. Its zero is where as many scores as possible have the sign of the
    drop in response when the word is masked alone. A score is a place in an order, not an effect.

    Notes
    -----
    Zhou and Shah (arXiv 2205.08696), whose package `solvex` has no budget, keeps several orders of the same words, and
    explains the probability.
    """

    beam: int = 5

    def __post_init__(self) -> None:
        check_integer("beam", self.beam, 1)

    @property
    def ranks(self) -> bool:
        """Whether the coefficients are places in an order: True."""
        return True

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the places as gamma `(p,)`; their covariance is NaN, because they estimate nothing.

        Raises
        ------
        TooFewSamplesError
            If the budget is smaller than p.
        """
        del rng, stopping
        p = oracle.size
        if budget < p:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {p}: each of the {p} words is masked "
                "once; use a larger n_samples"
            )
        result, left = _Beam.of_text(oracle), budget
        alone, changes = np.zeros(p), False
        while left and result.kept.any():
            n_words = int(result.kept[0].sum())
            result, n_asked = result.extended(oracle, self.beam, min(left, max(n_words, 2 * left // (n_words + 1))))
            left -= n_asked
            alone = alone if n_words < p else result.drops[0]
            changes = changes or bool(result.drops.any())
        rest = np.argsort(np.where(result.kept[0], -result.drops[0], np.inf), kind="stable")[: result.kept[0].sum()]
        gamma = _places(np.concatenate([result.orders[0], rest]), alone)
        estimate = Estimate(gamma, np.full_like(no_scatter(p), np.nan), float(p))
        solution = Solution.of(oracle, estimate).noted(Note("places", _MESSAGE))
        return solution if changes else solution.noted(Note("constant", _CONSTANT))


def _distinct(order: Ints, groups: Ints) -> Ints:
    """Return the members of an order that are the first of their group."""
    _, first = np.unique(groups[order], return_index=True)
    return order[np.sort(first)]


def _places(order: Ints, alone: Floats) -> Floats:
    """Return the scores `(p,)` of words in an order `(p,)`, from the drops `(p,)` when each is masked alone.

    The first m scores are above 0. Each such word with a drop agrees in sign, and so does each later one with a rise.
    """
    p = len(order)
    agreeing = np.concatenate([[0.0], np.cumsum(np.sign(alone[order]))])
    m = p - np.argmax(agreeing[::-1])
    gamma = np.empty(p)
    gamma[order] = m - 0.5 - np.arange(p)
    return gamma
