"""Sobol' indices: the share of the variance of the response that is due to a word, while words are masked at random."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from mase.arrays import Bools, Floats
from mase.choices import check_choice
from mase.errors import OptionError, TooFewSamplesError
from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["ORDERS", "SobolIndices"]

ORDERS = ("total", "first")


@dataclass(frozen=True, slots=True)
class SobolIndices:
    """Shares of Var F(C), where each word of C is masked with probability 1/2, by Jansen's (1999) estimators.

    The total index of word i is E[(F(A) - F(A with word i of B))^2] / (2 Var F(A)), which counts all interactions of
    the word. The first-order index is 1 - E[(F(B) - F(A with word i of B))^2] / (2 Var F(A)), its effect alone. A and B
    are independent, drawn by a scrambled Sobol' sequence. Indices have no sign: a word that lowers the response scores
    as high as one that raises it. An estimate of a first-order index may be below 0.

    Parameters
    ----------
    order
        "total" or "first".

    Notes
    -----
    Fel et al. (2021, arXiv 2111.04138) explain predictions by total indices; the package interpreto has both, and
    first-order ones by default. It evaluates k (p + 2) rows. Here rows that are equal are evaluated once, and the total
    indices need no response to B, so k is as large as the budget allows: about 2 n_samples / (p + 2). The points of a
    Sobol' sequence are not independent, and k is small, so there are no standard errors.
    """

    order: str = "total"
    needs_gradients = False
    needs_reference = True
    stops_early = False

    def __post_init__(self) -> None:
        check_choice("order", self.order, ORDERS)

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the indices as gamma `(p,)` with a covariance of NaN.

        Raises
        ------
        OptionError
            If there are more words than a Sobol' sequence has dimensions for.
        TooFewSamplesError
            If the budget does not allow for two rows of A.
        """
        del stopping
        p = oracle.size
        first, second = self._rows(rng, budget, p)
        differ = first != second
        exchanged = np.repeat(first, differ.sum(axis=1), axis=0)
        exchanged[np.arange(len(exchanged)), np.nonzero(differ)[1]] ^= True
        rows = np.concatenate([first, exchanged, second] if self.order == "first" else [first, exchanged])
        responses = oracle.responses(rows.astype(np.float64))
        k, n = len(first), len(first) + len(exchanged)
        of_exchanged = np.repeat(responses[:k, None], p, axis=1)
        of_exchanged[differ] = responses[k:n]
        gamma = self.indices(responses[:k], responses[n:], of_exchanged)
        return Solution.of(oracle, Estimate(gamma, np.full_like(no_scatter(p), np.nan), float(p)), signed=False)

    def indices(self, first: Floats, second: Floats, exchanged: Floats) -> Floats:
        """Return the indices `(p,)` from the responses to A `(k,)`, to B `(k,)`, and to A with a word of B `(k, p)`.

        The responses to B are only used for first-order indices.
        """
        variance = first.var(ddof=1) or exchanged.var()
        if not variance:
            return np.zeros(exchanged.shape[1])
        other = first if self.order == "total" else second
        unexplained: Floats = np.square(other[:, None] - exchanged).mean(axis=0) / (2 * variance)
        return unexplained if self.order == "total" else 1 - unexplained

    def _rows(self, rng: np.random.Generator, budget: int, p: int) -> tuple[Bools, Bools]:
        """Return the rows A and B `(k, p)`, as many as the budget allows for; 1 keeps a word."""
        if 2 * p > qmc.Sobol.MAXDIM:
            raise OptionError(
                f"the text has {p:,} words, expected at most {qmc.Sobol.MAXDIM // 2:,} for procedure='sobol-indices'; "
                "use method='mase'"
            )
        points = qmc.Sobol(2 * p, scramble=True, rng=rng).random_base2(int(np.ceil(np.log2(2 * budget // p + 2))))
        kept = points < 0.5
        first, second = kept[:, :p], kept[:, p:]
        each = (first != second).sum(axis=1) + (2 if self.order == "first" else 1)
        k = int(np.searchsorted(np.cumsum(each), budget, side="right"))
        if k < 2:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {each[:2].sum()}: two random texts, and "
                f"each of them with one of {p} words exchanged; use a larger n_samples"
            )
        return first[:k], second[:k]
