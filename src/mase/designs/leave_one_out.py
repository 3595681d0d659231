"""One word masked at a time: the rows of occlusion."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.errors import TooFewSamplesError
from mase.regression.covariance import Covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["LeaveOneOut"]


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """The p rows c = 1 - e_i, so that E[Z Z^T] = I / p: Theorem 1's formula gives gamma_i = F(1) - F(1 - e_i).

    Notes
    -----
    Proposition "occlusion" requires i to be uniform over the words for that second moment. Masking every word exactly
    once has the same moment without randomness. Its Z does not have mean zero, as Theorem 1 requires: the formula is
    used, but the theorem does not apply.
    """

    rounds = 1

    def distribution(self, scale: Floats) -> Distribution:
        """Return the second moments I / p about the text."""
        p = np.count_nonzero(scale)
        return Distribution(1.0, Covariance(np.full(p, p**-0.5)))

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the p rows.

        Raises
        ------
        TooFewSamplesError
            If p is larger than n.
        """
        del rng
        p = distribution.covariance.size
        if n < p:
            raise TooFewSamplesError(
                f"n_samples leaves {n} for the scores, expected at least {p}: each of the {p} words is masked once; "
                "use a larger n_samples"
            )
        z = -np.eye(p)
        return Sample(1 + z, z, np.ones(p), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)
