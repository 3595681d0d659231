"""Deep SHAP: the rules of DeepLIFT for the layers of an LSTM."""

from dataclasses import dataclass

import numpy as np

from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["DeepShap"]


@dataclass(frozen=True, slots=True)
class DeepShap:
    """Deep SHAP (Lundberg and Lee 2017), with one background text that consists of the reference: DeepLIFT Rescale.

    captum computes it on an unrolled copy of the network. `mase.models.deep_lift` describes the rules for gates and
    pooling. The scores sum to F(text) - F(reference).
    """

    needs_gradients = True
    needs_reference = True
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return the contributions `(p,)` from one backward pass; they are deterministic."""
        del budget, rng, stopping
        p = oracle.size
        return Solution.of(oracle, Estimate(oracle.contributions(), no_scatter(p), float(p)))
