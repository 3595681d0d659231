"""One word taken out at a time: the rows of occlusion."""

from dataclasses import dataclass
from typing import ClassVar

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
    Proposition "occlusion" needs i to be uniform over the words for that second moment; every word once is uniform
    without chance. Its Z does not have mean zero, which Theorem 1 asks for: the formula is used, the theorem does not
    apply.
    """

    rounds: ClassVar[int] = 1

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
                f"n_samples is {n}, expected at least {p}: every one of the {p} words is taken out once"
            )
        z = -np.eye(p)
        return Sample(1 + z, z, np.ones(p), False, 1.0, distribution.covariance, divisible=False, exhaustive=True)
