"""The posterior of the coefficients if the response is a Gaussian random function of zeros and ones."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Floats
from mase.regression.covariance import product
from mase.regression.distinct_rows import DistinctRows
from mase.regression.factored import LINEAR, REST, Factored, Prior, Whitened, averaged

__all__ = ["Posterior"]

# The products of two shares of the variance that are linear or the rest, on their grid.
_SHARES = np.stack([LINEAR**2, LINEAR * REST, REST**2])


@dataclass(frozen=True, slots=True)
class Posterior:
    """The posterior of the coefficients, over a grid of linear shares and reaches.

    Attributes
    ----------
    mean, covariance
        Of the coefficients `(p,)` and `(p, p)`; unless the whole covariance is wanted, there are the variances `(p,)`.
    prior
        Variances `(p,)` of the coefficients without the responses.
    used
        Effective number of coefficients.
    factors
        The kernels of each reach, those of the most probable one first.
    share
        The most probable share that is linear, of the most probable reach.
    rest
        Variance of the interactions.
    """

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    factors: tuple[Factored, ...]
    share: float
    rest: float

    @property
    def variances(self) -> Floats:
        """Variances of the coefficients `(p,)`."""
        return self.covariance if self.covariance.ndim == 1 else np.diag(self.covariance)

    @property
    def reaches(self) -> tuple[float, ...]:
        """The reaches, the most probable one first."""
        return tuple(factored.reach for factored in self.factors)

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, reaches: tuple[float, ...], *, whole: bool = True) -> Self:
        """Return the posterior for a prior and some reaches: sums of the weights of all coordinates."""
        return cls.under(
            rows, tuple(Factored.of(Whitened.of(rows, prior, reach), prior.root) for reach in reaches), whole=whole
        )

    @classmethod
    def under(cls, rows: DistinctRows, factors: tuple[Factored, ...], *, whole: bool = True) -> Self:
        """Return the posterior of the coefficients of rows whose kernels are known."""
        parts = [_OfReach.of(rows, factored, whole=whole) for factored in factors]
        joint = np.array([part.evidence for part in parts])
        shares, _ = averaged(joint)
        means = np.array([part.mean for part in parts])
        mean = np.asarray(shares @ means)
        between = (means - mean) * np.sqrt(shares)[:, None]
        within = sum(share * part.covariance for share, part in zip(shares, parts, strict=True))
        unknown = shares @ [part.prior for part in parts]
        used = float(shares @ [part.used for part in parts])
        order = np.argsort(-joint, kind="stable")
        best = tuple(factors[index] for index in order)
        share, rest = parts[order[0]].share, float(shares @ [part.rest for part in parts])
        covariance = np.asarray(within + _product(between, between, whole=whole))
        return cls(mean, covariance, unknown, used, best, share, rest)


def _product(one: Floats, other: Floats, *, whole: bool) -> Floats:
    """Return one'other `(p, p)` for rows `(n, p)`, or its diagonal `(p,)`."""
    return np.asarray(one.T @ other if whole else (one * other).sum(axis=0))


@dataclass(frozen=True, slots=True)
class _OfReach:
    """The posterior given one reach of the interactions, averaged over a grid of linear shares."""

    mean: Floats
    covariance: Floats
    prior: Floats
    used: float
    evidence: float
    share: float
    rest: float

    @classmethod
    def of(cls, rows: DistinctRows, factored: Factored, *, whole: bool) -> Self:
        """Return the posterior of the coefficients. Each array over the grid has a row for each linear share."""
        interactions, y, linear = factored.whitened.interactions, factored.y, factored.linear
        white = factored.whitened.white(interactions.cross_covariance(rows.signs, rows.target))
        rest = factored.basis.T @ white
        others = white - factored.basis @ rest
        precision, squares, joint = factored.on_grid(rows.total)
        chosen, evidence = averaged(joint)
        fitted = precision * y
        means = LINEAR[:, None] * (fitted @ linear) + REST[:, None] * (fitted @ rest) + others.T @ factored.other_y
        mean = np.asarray(chosen @ means)
        between = (means - mean) * np.sqrt(chosen)[:, None]
        # The mean of the variance over its posterior, which is inverse gamma.
        scale = chosen * squares / max(len(white) - 2, 1)
        spread = (
            interactions.coefficient_covariance(rows.target)
            if whole
            else interactions.coefficient_variances(rows.target)
        )
        before = (scale @ LINEAR) * product(factored.root, whole=whole) + (scale @ REST) * spread
        covariance = _product(between, between, whole=whole) + before
        covariance -= (scale @ REST) * _product(others, others, whole=whole)
        own, shared, rests = ((scale * _SHARES) @ precision)[:, :, None]
        covariance -= _product(linear, own * linear + shared * rest, whole=whole)
        covariance -= _product(rest, shared * linear + rests * rest, whole=whole)
        weights = (chosen * LINEAR) @ precision, (chosen * REST) @ precision
        used = float(np.vdot(factored.signs, weights[0][:, None] * linear + weights[1][:, None] * rest))
        unknown = np.diag(before) if whole else before
        share, left = float(LINEAR[chosen.argmax()]), float(scale @ REST)
        return cls(mean, covariance, unknown, used, evidence, share, left)
