"""What each row adds to the coefficients of a Gaussian process, under any laws."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular

from mase.arrays import Floats
from mase.regression.anova import Coefficients, Interactions
from mase.regression.distinct_rows import DistinctRows
from mase.regression.posterior import Posterior, Prior, on_contrasts

__all__ = ["Influence"]


@dataclass(frozen=True, slots=True)
class Influence:
    """What each of the different rows adds to the coefficients, with the prior, reach and linear share of a posterior.

    Attributes
    ----------
    rows, interactions
        The different rows, and the interactions of the prior.
    precision
        The inverse `(u, u)` of the covariance of the responses, with a variance of 1, for any mean.
    solved
        Its product with the responses `(u,)`.
    linear
        What each response adds to the linear coefficients `(u, p)`.
    rest
        The share that is not linear.
    """

    rows: DistinctRows
    interactions: Interactions
    precision: Floats
    solved: Floats
    linear: Floats
    rest: float

    @classmethod
    def of(cls, rows: DistinctRows, prior: Prior, found: Posterior) -> Self:
        """Return the influence of rows under a prior, with the most probable reach and linear share of a posterior."""
        interactions, root = Interactions.of(prior.weights(found.reaches[0])), prior.root
        kernel, linear, rest = rows.kernel(interactions, prior.noise), found.share, 1 - found.share
        inverse = solve_triangular(np.linalg.cholesky(kernel), np.eye(len(kernel)), lower=True)
        constant = inverse.sum(axis=1)
        white = on_contrasts(inverse, constant, float(np.linalg.norm(constant)))
        basis, values, vectors = np.linalg.svd(white @ rows.signs / 2 @ root, full_matrices=False)
        inside = basis.T @ white
        outside = white - basis @ inside
        spread = 1 / (linear * values**2 + rest)
        precision = (inside.T * spread) @ inside + outside.T @ outside / rest
        pulls = (inside.T * (spread * linear * values)) @ (vectors @ root.T)
        return cls(rows, interactions, precision, precision @ rows.y, pulls, rest)

    def mean(self, target: Coefficients) -> Floats:
        """Return the mean of the coefficients `(p,)` under any laws."""
        rest = self.interactions.pulled(self.rows.signs, target, self.rest * self.solved)
        return np.asarray(self.rows.y @ self.linear + rest)

    def changes(self, target: Coefficients) -> tuple[Floats, Floats]:
        """Return what each of the different rows adds to the coefficients `(u, p)`, and the expected squares `(u, p)`.

        The squares are those to expect if the response is such a random function.
        """
        known = np.diag(self.precision)
        pulls = self.linear + self.precision @ (
            self.rest * self.interactions.with_coefficients(self.rows.signs, target)
        )
        variances = float(self.rows.y @ self.solved) / max(len(known) - 1, 1) / known
        return (self.solved / known)[:, None] * pulls, variances[:, None] * pulls**2
