"""What each row adds to the coefficients of a Gaussian process, under any laws."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from mase.arrays import Floats, Ints
from mase.regression.anova import Coefficients, InteractionKernel
from mase.regression.distinct_rows import DistinctRows
from mase.regression.posterior import Posterior

__all__ = ["Influence", "checked"]


@dataclass(frozen=True, slots=True)
class Influence:
    """What each of the different rows adds to the coefficients, with the prior, reach and linear share of a posterior.

    Attributes
    ----------
    rows, interactions
        The different rows, and the interactions of the prior.
    inside, outside, spread
        The inverse of the covariance of the responses, with a variance of 1 and for any mean, is inside' diag(spread)
        inside plus outside' outside over `rest`: `(d, u)`, `(u - 1, u)` and `(d,)`. In d directions the linear part
        varies.
    solved, known
        The product of this inverse with the responses `(u,)`, and its diagonal `(u,)`.
    linear
        What each response adds to the linear coefficients `(u, p)`.
    rest
        The share that is not linear.
    """

    rows: DistinctRows
    interactions: InteractionKernel
    inside: Floats
    outside: Floats
    spread: Floats
    solved: Floats
    known: Floats
    linear: Floats
    rest: float

    @classmethod
    def of(cls, rows: DistinctRows, found: Posterior) -> Self:
        """Return the influence of rows with the most probable reach and linear share of their posterior."""
        factored, linear, rest = found.factors[0], found.share, 1 - found.share
        white = factored.whitened.inverse()
        inside = factored.basis.T @ white
        outside = white - factored.basis @ inside
        spread = 1 / (linear * factored.ratios + rest)
        solved = inside.T @ (spread * (inside @ rows.y)) + outside.T @ (outside @ rows.y) / rest
        known = spread @ inside**2 + np.einsum("ij,ij->j", outside, outside) / rest
        pulls = inside.T @ (linear * spread[:, None] * factored.linear)
        return cls(rows, factored.whitened.interactions, inside, outside, spread, solved, known, pulls, rest)

    def means(self, targets: Coefficients) -> Floats:
        """Return the means `(w, p)` of the coefficients under w mixtures."""
        rest = self.interactions.weighted_cross_covariance(self.rows.signs, targets, self.rest * self.solved)
        return np.asarray(self.rows.y @ self.linear + rest)

    def changes(self, target: Coefficients) -> tuple[Floats, Floats]:
        """Return what each of the different rows adds to the coefficients `(u, p)`, and the expected squares `(u, p)`.

        The squares are those to expect if the response is such a random function.
        """
        own = self.interactions.cross_covariance(self.rows.signs, target)
        apart = (self.inside.T * (self.rest * self.spread)) @ (self.inside @ own) + self.outside.T @ (
            self.outside @ own
        )
        pulls = self.linear + apart
        variances = float(self.rows.y @ self.solved) / max(len(self.known) - 1, 1) / self.known
        return (self.solved / self.known)[:, None] * pulls, variances[:, None] * pulls**2


def checked(covariance: Floats, changed: Floats, expected: Floats, clusters: Ints) -> Floats:
    """Return the covariance `(p, p)` of a posterior, which is only right for a Gaussian process, after a check.

    It is rescaled by the squares of what rows change `(u, p)` over those to expect. For the share of all subsets that
    were not asked it is averaged with the sum of the squares of what clusters of rows `(u,)` change, the jackknife,
    which shows how much the choice of rows matters.
    """
    squares, before = np.square(changed).sum(axis=0), expected.sum(axis=0)
    ratios = np.sqrt(np.divide(squares, before, out=np.ones_like(squares), where=before > 0))
    unasked = 1 - len(changed) * 2.0 ** -len(squares)
    number = int(clusters.max()) + 1
    together = np.zeros((number, len(squares)))
    np.add.at(together, clusters, changed)
    jackknife = number / max(number - 1, 1) * together.T @ together
    return np.asarray(((2 - unasked) * covariance * np.outer(ratios, ratios) + unasked * jackknife) / 2)
