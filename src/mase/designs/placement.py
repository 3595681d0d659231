"""From deviations to a sample: the steps that the designs share."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mase.arrays import Floats, Ints
from mase.errors import OptionError
from mase.regression.covariance import MOST_CORRELATED, Covariance, covariance
from mase.regression.problem import Distribution, Sample

__all__ = ["Gaussian", "exchangeable", "mirrored", "pair_count", "proximity", "single"]


@dataclass(frozen=True, slots=True)
class Gaussian:
    """What Gaussian designs have in common: the distribution N(center, Sigma) of the coordinates.

    Parameters
    ----------
    sigma
        Standard deviation of the coordinates, p of them, a covariance `(p, p)`, or a function of p that returns one of
        these (see `mase.regression.covariance.covariance`).
    center
        Mean of the coordinates: 1 is the text itself, 0 the reference.

    Raises
    ------
    OptionError
        If the centre is not a finite number.
    """

    sigma: Any = 0.1
    center: float = 1.0
    rounds: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.center is None or not np.isfinite(self.center) or self.sigma is None:
            raise OptionError(
                f"center is {self.center!r} and sigma {self.sigma!r}, expected a finite number (1 is the text, 0 the "
                "reference) and a standard deviation"
            )

    def distribution(self, scale: Floats) -> Distribution:
        """Return N(center, Sigma) of the coordinates whose width is not 0."""
        return Distribution(self.center, covariance(self.sigma, scale))


def single(deviations: Floats, distribution: Distribution) -> Sample:
    """Return the sample of independent rows `(n, p)` about the centre of the distribution."""
    weights = np.ones(len(deviations))
    return Sample(
        distribution.center + deviations, deviations, weights, False, distribution.center, distribution.covariance
    )


def mirrored(deviations: Floats, distribution: Distribution, centers: Floats | None = None) -> Sample:
    """Return the sample of 2m rows with mirror images side by side, from m deviations `(m, p)`.

    `centers` `(m,)` gives each pair a centre of its own; without it all have the law's.
    """
    both = np.empty((2 * len(deviations), deviations.shape[1]))
    both[0::2], both[1::2] = deviations, -deviations
    at = distribution.center if centers is None else np.repeat(centers, 2)[:, None]
    center = distribution.center if centers is None else None
    return Sample(at + both, both, np.ones(len(both)), True, center, distribution.covariance)


def pair_count(n: int) -> int:
    """Return the number of mirrored pairs in at most n rows.

    Raises
    ------
    OptionError
        If n has no room for two pairs.
    """
    if n < 4:
        raise OptionError(f"n_samples is {n}, expected at least 4 for a design of mirrored pairs")
    return n // 2


def exchangeable(p: int, sizes: Ints, weights: Floats) -> Distribution:
    """Return the distribution of 0/1 rows of p words, whose number of ones is drawn from `sizes` with weights `(s,)`.

    Two words that exclude each other, or one that is never there, have no positive-definite covariance: one or two
    words are taken to be fair coins. Of more than `MOST_CORRELATED` words only the variances are given.
    """
    if p < 3:
        return Distribution(0.5, Covariance(np.full(p, 0.5)))
    share = weights / weights.sum()
    center = float(share @ sizes) / p
    own = center * (1 - center)
    if p > MOST_CORRELATED:
        return Distribution(center, Covariance(np.full(p, own**0.5)))
    shared = float(share @ (sizes * (sizes - 1))) / (p * (p - 1)) - center**2
    return Distribution(center, covariance(np.where(np.eye(p, dtype=bool), own, shared), np.ones(p)))


def proximity(distances: Floats, width: float) -> Floats:
    """Return exp(-D^2 / width^2) `(n,)`, kept above 0 so that every row counts."""
    return np.maximum(np.exp(-((distances / width) ** 2)), np.finfo(np.float64).tiny)
