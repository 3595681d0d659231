"""Permutation importance: what happens when a word stands in the place of another."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.arrays import Ints
from mase.errors import TooFewSamplesError
from mase.regression.covariance import scatter
from mase.regression.oracle import Oracle
from mase.regression.problem import Estimate
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["PermutationImportance"]


@dataclass(frozen=True, slots=True)
class PermutationImportance:
    """gamma_i = F(text) - mean_r F(text with word pi_r(i) written over word i), over random permutations pi_r of the words.

    One word is replaced at a time and all others stay. Every pi_r is one cycle through all words (Sattolo), so that no
    word replaces itself; the budget holds n_samples / p permutations.

    Notes
    -----
    Altmann et al. (2010) permute the response over a data set and refit; one text has no such response. The paper
    permutes "the input vector", which is this: the vectors of the text are permuted, and each entry of the permuted
    text is tried alone.
    """

    needs_gradients: ClassVar[bool] = False
    needs_reference: ClassVar[bool] = False
    stops_early: ClassVar[bool] = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with the covariance of a mean over permutations; that of one permutation is not known.

        Raises
        ------
        TooFewSamplesError
            If the budget does not hold one permutation.
        """
        p = oracle.size
        rounds = budget // p
        if not rounds:
            raise TooFewSamplesError(f"n_samples is {budget}, expected at least {p}: one permutation of {p} words")
        if p == 1:
            remark = "a text of one word has no other word to put in its place"
            return Solution.of(oracle, Estimate(np.zeros(1), np.zeros((1, 1)), 1.0, remark))
        sources = np.tile(np.arange(p), (rounds, p, 1))
        words = np.arange(p)
        for r in range(rounds):
            sources[r, words, words] = _cycle(rng, p)
        drops = oracle.text - oracle.exchanged(sources.reshape(-1, p)).reshape(rounds, p)
        spread = drops - drops.mean(axis=0)
        covariance = scatter(spread) / (rounds * max(rounds - 1, 1))
        why = "one permutation only: its error is unknown" if rounds == 1 else None
        return Solution.of(oracle, Estimate(drops.mean(axis=0), covariance, float(p), why))


def _cycle(rng: np.random.Generator, p: int) -> Ints:
    """Return a random permutation of one cycle, uniform over all of them: the word that replaces each word."""
    order = rng.permutation(p)
    after: Ints = np.empty(p, dtype=np.int64)
    after[order] = np.roll(order, -1)
    return after
