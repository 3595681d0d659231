"""Sobol' indices: the share of the variance of the response that a word takes part in, while words are masked."""

from dataclasses import dataclass, replace

import numpy as np

from mase.arrays import Bools, Floats
from mase.attribution import Note
from mase.errors import TooFewSamplesError
from mase.regression.covariance import no_scatter, scatter, widening
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["SobolIndices"]

# A spread of responses below this share of their magnitude is rounding. That of the rows A says nothing of the variance
# below this share of that of all rows.
_NOISE, _FLAT = 1e-12, 1e-6
_FEWEST = 4
_MESSAGE = (
    "scores are shares of the variance of the explained number, while every word is masked at random; where words act "
    "together the shares overlap"
)


@dataclass(frozen=True, slots=True)
class SobolIndices:
    """Total indices S_j = E[(F(A) - F(A_j))^2] / (4 Var F(A)), where A masks each word with probability 1/2.

    A_j is A with word j put back or taken out. S_j is the share of the variance that is due to word j and to its
    interactions, which count for each of their words, so that indices may add up to more than 1. They have no sign: a
    word that lowers the response scores as high as one that raises it.

    The budget allows for k = n_samples / (p + 1) independent rows A, each with all of its A_j. If it allows for all 2^p
    masks, the indices are exact.

    Notes
    -----
    Fel et al. (2021, arXiv 2111.04138) explain predictions by total indices, with the estimator of Jansen (1999): word
    j of A is drawn anew instead. Half of these rows are A itself and say nothing, so that some words would not be asked
    about at all. Changing the word always has twice the expected square, hence 4 instead of 2. They draw the rows by a
    Sobol' sequence; here they are independent, which makes standard errors possible. The package interpreto does as
    they do, and has indices of first order by default.

    With few rows A, as of a long text, all indices tend to be too high together, because the variance is estimated from
    these rows. The order of the words does not depend on it. A word that changed nothing in any row scores 0 with an
    error of 0, although it may have an effect that is rarer. Where a model gives two answers to one row, this noise
    counts as variance that every word takes part in.
    """

    needs_gradients = False
    needs_reference = True
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the indices as gamma `(p,)` with the covariance of a ratio of means over the rows A.

        Raises
        ------
        TooFewSamplesError
            If the budget does not allow for four rows A.
        """
        del stopping
        p = oracle.size
        if p <= np.log2(budget):
            numbers, words = np.arange(2**p)[:, None], 2 ** np.arange(p)
            responses = oracle.responses((numbers & words > 0).astype(np.float64))
            exact = Estimate(_shares(responses, responses[numbers ^ words], 0), no_scatter(p), float(p))
            return replace(Solution.of(oracle, exact, signed=False).noted(Note("shares", _MESSAGE)), exact=True)
        k = budget // (p + 1)
        if k < _FEWEST:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {_FEWEST * (p + 1)}: {_FEWEST} copies of "
                f"the text with random words masked, and each of them with one of {p} words changed; use a larger "
                "n_samples"
            )
        kept: Bools = rng.random((k, p)) < 0.5
        changed = kept[:, None] ^ np.eye(p, dtype=np.bool_)
        responses = oracle.responses(np.concatenate([kept, changed.reshape(-1, p)]).astype(np.float64))
        estimate = self.estimate(responses[:k], responses[k:].reshape(k, p))
        return Solution.of(oracle, estimate, signed=False).noted(Note("shares", _MESSAGE))

    def estimate(self, responses: Floats, changed: Floats) -> Estimate:
        """Return the indices with their covariance, from the responses to A `(k,)` and to all A_j `(k, p)`.

        The covariance is that of a ratio by the delta method, with the term 2 / (k (k - 1)) of the variance of a sample
        variance, which the method leaves out. It is widened by Student's distribution: 1.96 of the standard errors are
        as wide as a 95 % interval that knows the number of rows A. It is NaN where the responses to A do not vary.
        """
        k, p = changed.shape
        shares = _shares(responses, changed, 1)
        if not shares.any():
            return Estimate(shares, no_scatter(p), float(p))
        if _flat(responses, changed):
            return Estimate(shares, np.full_like(no_scatter(p), np.nan), float(p))
        squares = np.square(responses - responses.mean()) * k / (k - 1)
        changes = np.square(responses[:, None] - changed) / 4
        influence = (changes - np.outer(squares, shares)) / responses.var(ddof=1)
        covariance = (scatter(influence) + 2 * scatter(shares[None])) * widening(k - 1) / (k * (k - 1))
        return Estimate(shares, covariance, float(p))


def _flat(responses: Floats, changed: Floats) -> bool:
    """Return whether the responses to A do not vary, although those to the changed rows do."""
    return bool(np.ptp(responses) <= _FLAT * np.ptp(np.append(responses, changed)))


def _shares(responses: Floats, changed: Floats, ddof: int) -> Floats:
    """Return the indices `(p,)`, which are 0 where responses only differ by rounding."""
    everything = np.append(responses, changed)
    if np.ptp(everything) <= _NOISE * np.abs(everything).max():
        return np.zeros(changed.shape[1])
    variance = everything.var() if _flat(responses, changed) else responses.var(ddof=ddof)
    return np.asarray(np.square(responses[:, None] - changed).mean(axis=0) / (4 * variance))
