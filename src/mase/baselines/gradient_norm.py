"""The length of the gradient: Grad* of the paper's tables."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mase.regression.covariance import no_scatter
from mase.regression.problem import Estimate
from mase.regression.procedure import Oracle

__all__ = ["GradientNorm"]


@dataclass(frozen=True, slots=True)
class GradientNorm:
    """|df/de_i|_2 of each word i over all entries of its vectors (Simonyan et al. 2014 with the L2 norm).

    The tokens of a word count as one long vector: its score is the root of their summed squares. Scores are never
    negative and say nothing of direction: a word that speaks against the class scores as high as one that speaks for
    it.
    """

    needs_gradients: ClassVar[bool] = True
    needs_reference: ClassVar[bool] = False
    signed: ClassVar[bool] = False

    def run(self, oracle: Oracle, n_samples: int, rng: np.random.Generator) -> Estimate:
        """Return the norms `(p,)` from one gradient; nothing is drawn."""
        del n_samples, rng
        p = oracle.size
        return Estimate(oracle.gradient_norms(np.ones((1, p)))[0], no_scatter(p), float(p))
