"""Gradient norms, sequential integrated gradients, and Deep SHAP."""

from dataclasses import dataclass

import numpy as np

from mase.errors import TooFewSamplesError
from mase.solve.distributions import no_scatter
from mase.solve.oracle import Oracle
from mase.solve.problem import Estimate
from mase.solve.strategy import Solution, Stopping, Strategy


@dataclass(frozen=True, slots=True)
class GradientNorm(Strategy):
    """|df/de_i|_2 of each word i over all entries of its vectors (Simonyan et al. 2014 with the L2 norm).

    The tokens of a word count as one long vector, so its score is the root of their summed squares. Scores have no
    sign: a word that decreases the probability of the class scores as high as one that increases it.
    """

    needs_gradients = True
    needs_reference = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the norms `(p,)` from one gradient; they are deterministic."""
        del budget, rng, stopping
        p = oracle.size
        norms = oracle.gradient_norms(np.ones((1, p)))[0]
        return Solution.of(oracle, Estimate(norms, no_scatter(p), float(p)), signed=False)


# More nodes per word than this do not improve the accuracy visibly.
_MAX_NODES = 32


@dataclass(frozen=True, slots=True)
class SequentialIG(Strategy):
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


@dataclass(frozen=True, slots=True)
class DeepShap(Strategy):
    """Deep SHAP (Lundberg and Lee 2017), with one background text that consists of the reference: DeepLIFT Rescale.

    captum computes it on an unrolled copy of the network. `mase.models.torch.deep_lift` describes the rules for gates
    and pooling. The scores sum to F(text) - F(reference).
    """

    needs_gradients = True

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the contributions `(p,)` from one backward pass; they are deterministic."""
        del budget, rng, stopping
        p = oracle.size
        return Solution.of(oracle, Estimate(oracle.contributions(), no_scatter(p), float(p)))
