"""Scores drawn at random: what a method has to beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.regression.covariance import no_scatter
from mase.regression.problem import Estimate
from mase.regression.procedure import Oracle

__all__ = ["Random"]


@dataclass(frozen=True, slots=True)
class Random:
    """Independent uniform scores in [0, 1), so that every order of the words is as likely; the model is not asked."""

    needs_gradients: ClassVar[bool] = False
    needs_reference: ClassVar[bool] = False

    def run(self, oracle: Oracle, n_samples: int, rng: np.random.Generator) -> Estimate:
        """Return p draws with a covariance of NaN: they estimate nothing, so that nothing could be their standard error."""
        del n_samples
        p = oracle.size
        return Estimate(rng.random(p), np.full_like(no_scatter(p), np.nan), float(p))
