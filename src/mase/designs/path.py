"""Mirrored pairs along the straight path from the reference to the text."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.orthogonal import Orthogonal
from mase.designs.placement import Gaussian, mirrored
from mase.regression.problem import Distribution, Sample

__all__ = ["Path"]


@dataclass(frozen=True, slots=True, eq=False)
class Path(Gaussian):
    """Pairs (alpha + z, alpha - z) with alpha stratified over (0, 1) and z in orthogonal blocks.

    The coefficients estimate the smoothed gradient with respect to the coordinates, averaged over the path. Their sum
    tends to F(1) - F(0) as sigma goes to 0: they are smoothed integrated gradients, computed without gradients. The
    centre of the distribution is not used.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        deviations = Orthogonal().draw(rng, n, distribution).deviations[0::2]
        return mirrored(deviations, distribution, _strata(rng, len(deviations)))


def _strata(rng: np.random.Generator, m: int) -> Floats:
    """Return m points in random order, one drawn uniformly from each of m equal parts of (0, 1)."""
    return np.asarray((rng.permutation(m) + rng.random(m)) / m)
