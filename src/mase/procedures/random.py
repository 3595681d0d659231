"""Random scores: the lower baseline for every method."""

from dataclasses import dataclass

import numpy as np

from mase.regression.covariance import no_scatter
from mase.regression.estimate import Estimate
from mase.regression.oracle import Oracle
from mase.regression.stopping import Stopping
from mase.regression.strategy import Solution

__all__ = ["Random"]


@dataclass(frozen=True, slots=True)
class Random:
    """Independent uniform scores in [0, 1), so that all orders of the words are equally likely, without the model."""

    needs_gradients = False
    needs_reference = False
    stops_early = False

    def run(self, oracle: Oracle, budget: int, rng: np.random.Generator, stopping: Stopping) -> Solution:
        """Return p draws; their covariance is NaN, because they estimate nothing."""
        del budget, stopping
        p = oracle.size
        return Solution.of(oracle, Estimate(rng.random(p), np.full_like(no_scatter(p), np.nan), float(p)))
