"""The norm of the gradient: Grad* in the tables of the paper."""

from dataclasses import dataclass

import numpy as np

from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["GradientNorm"]


@dataclass(frozen=True, slots=True)
class GradientNorm:
    """|df/de_i|_2 of each word i over all entries of its vectors (Simonyan et al. 2014 with the L2 norm).

    The tokens of a word count as one long vector, so its score is the root of their summed squares. Scores have no
    sign: a word that decreases the probability of the class scores as high as one that increases it.
    """

    needs_gradients = True
    needs_reference = False
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the norms `(p,)` from one gradient; they are deterministic."""
        del budget, rng, stopping
        p = oracle.size
        norms = oracle.gradient_norms(np.ones((1, p)))[0]
        return Solution.of(oracle, Estimate(norms, no_scatter(p), float(p)), signed=False)
