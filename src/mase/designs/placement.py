"""Shared steps of the designs: from deviations to a sample."""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from mase.arrays import Floats, Ints, equal_fields
from mase.defaults import is_real
from mase.errors import OptionError
from mase.solve.distributions import MOST_CORRELATED, Components, Covariance, covariance, real_sigma
from mase.solve.problem import Design, Distribution, Sample


@dataclass(frozen=True, slots=True)
class Gaussian(Design):
    """Base of the Gaussian designs: the distribution N(center, Sigma) of the coordinates.

    Parameters
    ----------
    sigma
        Standard deviation of the coordinates, p standard deviations, a covariance matrix `(p, p)`, or a function of p
        that returns one of these (see `mase.solve.distributions.covariance`).
    center
        Mean of the coordinates: 1 is the text itself, 0 the reference.

    Raises
    ------
    OptionError
        If the centre is not a finite number, or sigma has no real numbers.
    """

    sigma: Any = 0.1
    center: float = 1.0
    __eq__ = equal_fields

    def __post_init__(self) -> None:
        if not is_real(self.center) or not isfinite(self.center) or self.sigma is None:
            raise OptionError(
                f"center is {self.center!r} and sigma is {self.sigma!r}, expected a finite center (1 is the text, 0 is "
                "the reference) and a standard deviation"
            )
        if not callable(self.sigma):
            real_sigma(self.sigma)

    def distribution(self, scale: Floats) -> Distribution:
        """Return the distribution N(center, Sigma) of the coordinates whose scale is not 0."""
        return Distribution(self.center, covariance(self.sigma, scale))


def single(deviations: Floats, distribution: Distribution) -> Sample:
    """Return the sample of independent rows `(n, p)` about the centre of the distribution."""
    weights = np.ones(len(deviations))
    return Sample(
        distribution.center + deviations, deviations, weights, False, distribution.center, distribution.covariance
    )


def mirrored(deviations: Floats, distribution: Distribution, centers: Floats | None = None) -> Sample:
    """Return the sample of 2m rows that alternate between m deviations `(m, p)` and their mirror images.

    `centers` `(m,)` are the centres of the pairs. By default all pairs have the centre of the distribution.
    """
    both = np.empty((2 * len(deviations), deviations.shape[1]))
    both[0::2], both[1::2] = deviations, -deviations
    row_centers = distribution.center if centers is None else np.repeat(centers, 2)[:, None]
    center = distribution.center if centers is None else None
    return Sample(row_centers + both, both, np.ones(len(both)), True, center, distribution.covariance)


def subsets(p: int) -> Floats:
    """Return all rows of p zeros and ones `(2^p, p)`; the second half of the rows are those that keep the last word."""
    numbers = np.arange(2**p)[:, None]
    return (numbers >> np.arange(p) & 1).astype(np.float64)


def every_row(kept: Floats, weights: Floats, distribution: Distribution) -> Sample:
    """Return the sample of all rows `(2^p, p)`, with weights that are proportional to `weights` `(2^p,)`."""
    sample = single(kept - distribution.center, distribution)
    return replace(sample, weights=weights / weights.mean(), divisible=False, exhaustive=True)


def every_under(components: Components, distribution: Distribution) -> Sample:
    """Return the sample of all rows, weighted by their probabilities under components with shares of a row."""
    kept = subsets(components.rates.shape[1])
    by_law = components.shares * np.where(kept == 1, components.rates[:, None], 1 - components.rates[:, None]).prod(
        axis=2
    )
    weights = by_law.sum(axis=0)
    own = replace(components, shares=by_law / weights).rows(slice(None))
    return replace(every_row(kept, weights, distribution), components=own)


def coins(sample: Sample, rates: float | Floats = 0.5, *, independent: bool = True) -> Sample:
    """Return a sample of zeros and ones, each coordinate of which is 1 at one rate in all rows, or its own `(p,)`."""
    n, p = sample.coordinates.shape
    return replace(sample, components=Components.one(n, np.broadcast_to(rates, p), independent=independent))


def pair_count(n: int) -> int:
    """Return the number of mirrored pairs in at most n rows."""
    if n < 4:
        raise OptionError(f"n_samples is {n}, expected at least 4 for a design of mirrored pairs")
    return n // 2


def exchangeable(p: int, sizes: Ints, weights: Floats) -> Distribution:
    """Return the distribution of 0/1 rows of p words, whose number of ones is drawn from `sizes` with weights `(s,)`.

    With one or two words the covariance may be singular, because the words exclude each other or one is never kept.
    They are treated as Bernoulli with mask rate 1/2. With more than `MOST_CORRELATED` words only the variances are
    returned.
    """
    if p < 3:
        return Distribution(0.5, Covariance(np.full(p, 0.5)))
    share = weights / weights.sum()
    center = float(share @ sizes) / p
    variance = center * (1 - center)
    if p > MOST_CORRELATED:
        return Distribution(center, Covariance(np.full(p, variance**0.5)))
    joint = float(share @ (sizes * (sizes - 1))) / (p * (p - 1)) - center**2
    return Distribution(center, covariance(np.where(np.eye(p, dtype=bool), variance, joint), np.ones(p)))


def proximity(distances: Floats, width: float) -> Floats:
    """Return exp(-D^2 / width^2) `(n,)`, clipped above 0 so that every row has some weight."""
    return np.maximum(np.exp(-((distances / width) ** 2)), np.finfo(np.float64).tiny)
