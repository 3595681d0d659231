"""Mirrored pairs in orthogonal blocks, whose directions cover the space evenly."""

from dataclasses import dataclass

import numpy as np

from mase.arrays import Floats
from mase.designs.placement import Gaussian, mirrored, pair_count
from mase.regression.problem import Distribution, Sample

__all__ = ["Orthogonal"]


@dataclass(frozen=True, slots=True, eq=False)
class Orthogonal(Gaussian):
    """Blocks of p orthogonal directions, each row with its mirror image.

    Notes
    -----
    The length of a row is drawn from the chi distribution with p degrees of freedom. Each single row then has the
    distribution N(0, Sigma), and the estimand is that of the paper; fixed lengths sqrt(p) would change it by O(1/p).
    The standard errors of `Moment` assume independent rows and are too large on these.
    """

    def draw(self, rng: np.random.Generator, n: int, distribution: Distribution, gamma: Floats | None = None) -> Sample:
        """Return the largest even number of rows up to n."""
        m, p = pair_count(n), distribution.covariance.size
        noise = np.concatenate([_block(rng, p, min(m, p)) for _ in range(-(-m // p))])[:m]
        lengths = np.sqrt(rng.chisquare(p, size=(m, 1)))
        return mirrored(distribution.covariance.color(noise * lengths), distribution)


def _block(rng: np.random.Generator, p: int, m: int) -> Floats:
    """Return m orthonormal rows `(m, p)` of a uniform (Haar) random rotation."""
    # The factorisation fixes the signs of R's diagonal; multiplying by them makes Q uniform.
    if m == p:
        q, r = np.linalg.qr(rng.standard_normal((p, p)))
        return np.asarray(q * np.sign(np.diag(r)))
    q, r = np.linalg.qr(rng.standard_normal((p, m)))
    return np.asarray((q * np.sign(np.diag(r))).T)
