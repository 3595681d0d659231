"""Sequential integrated gradients: each word moves along its path from the reference while the others are kept."""

from dataclasses import dataclass

import numpy as np

from mase.errors import TooFewSamplesError
from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["SequentialIG"]

# More nodes per word than this do not improve the accuracy visibly.
_MAX_NODES = 32


@dataclass(frozen=True, slots=True)
class SequentialIG:
    """gamma_i = int_0^1 dF/dc_i d alpha at c = 1 - (1 - alpha) e_i, by Gauss-Legendre quadrature.

    This is SIG (Enguehard 2023).

    Notes
    -----
    The integral of a derivative is a difference: gamma_i = F(1) - F(1 - e_i), which is occlusion with the same
    reference. The two differ only by the error of the quadrature, which has n_samples / p nodes per word. The original
    divides by the norm of all scores. That changes no ranking and is omitted, so that scores keep the unit of the
    response.
    """

    needs_gradients = True
    needs_reference = True
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return gamma `(p,)`, which is deterministic.

        Raises
        ------
        TooFewSamplesError
            If there are fewer gradients than words.
        """
        del rng, stopping
        p = oracle.size
        if budget < p:
            raise TooFewSamplesError(
                f"n_samples leaves {budget} for the scores, expected at least {p}: each of the {p} words has its own "
                "path; use a larger n_samples"
            )
        nodes, weights = np.polynomial.legendre.leggauss(min(budget // p, _MAX_NODES))
        rows = np.ones((p, len(nodes), p))
        words = np.arange(p)
        rows[words, :, words] = (nodes + 1) / 2
        _, slopes = oracle.gradients(rows.reshape(-1, p))
        slopes = slopes.reshape(rows.shape)
        return Solution.of(oracle, Estimate(slopes[words, :, words] @ (weights / 2), no_scatter(p), float(p)))
