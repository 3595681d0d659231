"""Permutation importance: the change in response when a word is replaced by another word of the text."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Ints
from mase.errors import TooFewSamplesError
from mase.regression.covariance import scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["PermutationImportance"]


@dataclass(frozen=True, slots=True)
class PermutationImportance:
    """gamma_i = F(text) - mean_r F(text with word i replaced by word pi_r(i)), over random permutations pi_r.

    One word is replaced at a time and all others are kept. Every pi_r is a single cycle through all words (Sattolo), so
    that no word replaces itself. The budget allows n_samples / (p + 1) permutations: each is compared with an answer to
    the text of its own, in case the model does not give the same one twice.

    Notes
    -----
    Altmann et al. (2010) permute the response over a data set and refit, which is not possible for a single text. The
    paper permutes "the input vector". That is implemented here: the vectors of the text are permuted, and each entry of
    the permuted text is evaluated separately.
    """

    needs_gradients = False
    needs_reference = False
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)` with the covariance of a mean over permutations, which is NaN for one permutation.

        Raises
        ------
        TooFewSamplesError
            If the budget is smaller than one permutation.
        """
        p = oracle.size
        rounds = budget // (p + 1) or budget // p
        if not rounds:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {p} for one permutation of {p} words; "
                "use a larger n_samples"
            )
        if p == 1:
            fallback = "the text has a single word, so there is no other word to replace it with; use another method"
            return Solution.of(oracle, Estimate(np.zeros(1), np.zeros((1, 1)), 1.0, fallback))
        words = np.arange(p)
        sources = np.tile(words, (rounds, p + 1, 1))  # the last row of each permutation is the text
        for r in range(rounds):
            sources[r, words, words] = _cycle(rng, p)
        responses = oracle.exchanged(sources.reshape(-1, p)).reshape(rounds, p + 1)
        drops = responses[:, -1:] - responses[:, :-1]
        spread = drops - drops.mean(axis=0)
        with np.errstate(invalid="ignore"):  # the spread of a single permutation is unknown
            covariance = scatter(spread) / (rounds * (rounds - 1))
        unknown = (
            f"n_samples leaves {budget:,} for the scores; with one permutation the standard errors are unknown, and "
            f"two take {2 * (p + 1):,}: use a larger n_samples"
        )
        return Solution.of(oracle, Estimate(drops.mean(axis=0), covariance, float(p), unknown if rounds == 1 else None))


def _cycle(rng: np.random.Generator, p: int) -> Ints:
    """Return a uniformly random cyclic permutation `(p,)`: the index of the word that replaces each word."""
    order = rng.permutation(p)
    successors: Ints = np.empty(p, dtype=np.int64)
    successors[order] = np.roll(order, -1)
    return successors
