"""Ridge regression, with the penalty chosen by generalised cross-validation."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.regression.covariance import MOST_CORRELATED, scatter
from mase.regression.decomposition import decomposed
from mase.regression.estimate import Estimate
from mase.regression.problem import Problem

__all__ = ["Ridge"]

# Losses within this share of the minimum are ties.
_TIE = 1e-9
# A penalty must leave at least this share of the degrees of freedom of the rows.
_MIN_RESIDUAL_DOF = 0.2


@dataclass(frozen=True, slots=True)
class Ridge:
    """Minimise mean (y - a - z.gamma)^2 + penalty * sum_j (s_j gamma_j)^2, s_j the standard deviation of coordinate j.

    This works with fewer rows than coordinates. `penalty` is a number >= 0, or ``"gcv"`` for the minimiser of
    generalised cross-validation (Golub, Heath and Wahba 1979). A number is relative to coordinates of unit standard
    deviation.
    """

    penalty: float | Literal["gcv"] = "gcv"
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.penalty != "gcv" and not (isinstance(self.penalty, int | float) and 0 <= self.penalty < np.inf):
            raise OptionError(f"penalty is {self.penalty!r}, expected a finite number >= 0 or 'gcv'")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)`; its covariance is a sandwich plus a term for the shrinkage bias.

        The second term is the part of a prior N(0, tau^2) that the rows do not determine: tau^2 (I - H) in units of
        the standard deviations, with H the shrinkage matrix. tau^2 = |y|^2 / |z|^2 attributes all variance of the
        responses to the coordinates, which is conservative.
        """
        z, y = problem.centred()
        decomposition = self._decomposition(problem, z, y)
        u, s, vt, shrink = decomposition
        deviations = problem.covariance.deviations
        gamma = _gamma(decomposition, y, deviations)
        leverage = (u * u) @ (s * shrink)
        residuals = (y - z @ gamma) / np.maximum(1 - leverage, 0.05)  # Limit the weight of one row to a factor of 20.
        spread = (u * residuals[:, None] * shrink) @ vt / deviations
        prior = float(y @ y) / max(float(s @ s), np.finfo(np.float64).tiny)
        undetermined = _identity(problem.p) - scatter(np.sqrt(s * shrink)[:, None] * vt)
        scale = deviations**2 if undetermined.ndim == 1 else np.outer(deviations, deviations)
        dof = float((s * shrink).sum())
        return Estimate(gamma, scatter(spread) + prior * undetermined / scale, dof, leverages=leverage)

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` without its covariance."""
        z, y = problem.centred()
        return _gamma(self._decomposition(problem, z, y), y, problem.covariance.deviations)

    def _decomposition(self, problem: Problem, z: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the singular value decomposition of standardised z, and the shrunk inverses of the singular values.

        The shapes are u `(n, r)`, s `(r,)`, v' `(r, p)` and `(r,)`.
        """
        u, s, vt = decomposed(z / problem.covariance.deviations)
        keep = s > s.max(initial=0.0) * 1e-12
        u, s, vt = u[:, keep], s[keep], vt[keep]
        return u, s, vt, s / (s**2 + problem.n * self._chosen(problem, u, s, y))

    def _chosen(self, problem: Problem, u: Floats, s: Floats, y: Floats) -> float:
        """Return the penalty; the larger the sample, the smaller is the one that cross-validation chooses."""
        if self.penalty != "gcv":
            return float(self.penalty)
        return 0.0 if problem.unlimited else _gcv(u, s, y, problem.n_intercepts)


def _gamma(decomposition: tuple[Floats, Floats, Floats, Floats], y: Floats, deviations: Floats) -> Floats:
    u, _, vt, shrink = decomposition
    return np.asarray(vt.T @ (shrink * (u.T @ y)) / deviations)


def _identity(p: int) -> Floats:
    """Return the identity in the shape of `scatter`."""
    return np.eye(p) if p <= MOST_CORRELATED else np.ones(p)


def _gcv(u: Floats, s: Floats, y: Floats, n_intercepts: int) -> float:
    """Return the penalty that minimises n RSS / (n - dof)^2 over a grid of 60 from 1e-8 to 1e2 times the mean s^2 / n.

    Ties go to the smallest penalty: with fewer orthogonal rows than coordinates all penalties are equally good, and a
    large one only shrinks the scores. Penalties that leave less than a fifth of the degrees of freedom are excluded:
    with about as many rows as coordinates they interpolate the responses, which the criterion may take for a perfect
    fit.
    """
    n, projected = len(y), u.T @ y
    unexplained = max(float(y @ y - projected @ projected), 0.0)
    if not len(s):
        return 1.0
    grid = np.geomspace(1e-8, 1e2, 60)[:, None] * (s**2).mean() / n
    shrinkage = s**2 / (s**2 + n * grid)
    rss = unexplained + (((1 - shrinkage) * projected) ** 2).sum(axis=1)
    free = np.maximum(n - n_intercepts - shrinkage.sum(axis=1), 1e-9 * n)
    loss = np.where(free >= _MIN_RESIDUAL_DOF * (n - n_intercepts), rss / free**2, np.inf)
    return float(grid[np.flatnonzero(loss <= loss.min() * (1 + _TIE))[0], 0])
