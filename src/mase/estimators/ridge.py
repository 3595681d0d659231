"""Ridge regression, with the penalty chosen by generalised cross-validation."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mase.arrays import Floats
from mase.errors import OptionError
from mase.regression.covariance import MOST_CORRELATED, scatter
from mase.regression.problem import Estimate, Problem

__all__ = ["Ridge"]

# Losses this near to the least are as low; the share of the rows' freedom that a penalty must leave.
_TIE, _SPARE = 1e-9, 0.2


@dataclass(frozen=True, slots=True)
class Ridge:
    """Minimise mean (y - a - z.gamma)^2 + penalty * sum_j (s_j gamma_j)^2, s_j the coordinate's standard deviation.

    Works with fewer rows than coordinates. `penalty` is a number >= 0 in units of the response's square per coordinate
    standard deviation, or ``"gcv"``: the minimiser of generalised cross-validation (Golub, Heath and Wahba 1979).
    """

    penalty: float | Literal["gcv"] = "gcv"
    needs_base: ClassVar[bool] = False
    needs_gradients: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.penalty != "gcv" and not (isinstance(self.penalty, int | float) and 0 <= self.penalty < np.inf):
            raise OptionError(f"penalty is {self.penalty!r}, expected a finite number >= 0 or 'gcv'")

    def fit(self, problem: Problem) -> Estimate:
        """Return gamma `(p,)`; its covariance is a sandwich plus what the penalty may have shrunk away.

        The latter is the share of a prior N(0, tau^2) that the rows say nothing of, tau^2 (I - H) per coordinate
        deviation with H the shrinkage. tau^2 = |y|^2 / |z|^2 lays all variance of the responses to the coordinates:
        rather too much.
        """
        z, y = problem.centred()
        solved = self._solved(problem, z, y)
        u, s, vt, shrink = solved
        deviations = problem.covariance.deviations
        gamma = _gamma(solved, y, deviations)
        leverage = (u * u) @ (s * shrink)
        residuals = (y - z @ gamma) / np.maximum(1 - leverage, 0.05)  # one row never counts more than twentyfold
        spread = (u * residuals[:, None] * shrink) @ vt / deviations
        prior = float(y @ y) / max(float(s @ s), np.finfo(np.float64).tiny)
        unseen = _identity(problem.p) - scatter(np.sqrt(s * shrink)[:, None] * vt)
        scale = deviations**2 if unseen.ndim == 1 else np.outer(deviations, deviations)
        return Estimate(gamma, scatter(spread) + prior * unseen / scale, float((s * shrink).sum()))

    def solve(self, problem: Problem) -> Floats:
        """Return gamma `(p,)` alone."""
        z, y = problem.centred()
        return _gamma(self._solved(problem, z, y), y, problem.covariance.deviations)

    def _solved(self, problem: Problem, z: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the singular values and vectors u `(n, r)`, s `(r,)`, v' `(r, p)` of z per deviation, and shrunk 1 / s."""
        u, s, vt = np.linalg.svd(z / problem.covariance.deviations, full_matrices=False)
        keep = s > s.max(initial=0.0) * 1e-12
        u, s, vt = u[:, keep], s[keep], vt[keep]
        penalty = _gcv(u, s, y, int(problem.intercept)) if self.penalty == "gcv" else float(self.penalty)
        return u, s, vt, s / (s**2 + problem.n * penalty)


def _gamma(solved: tuple[Floats, Floats, Floats, Floats], y: Floats, deviations: Floats) -> Floats:
    u, _, vt, shrink = solved
    return np.asarray(vt.T @ (shrink * (u.T @ y)) / deviations)


def _identity(p: int) -> Floats:
    """Return the identity in the shape of `scatter`."""
    return np.eye(p) if p <= MOST_CORRELATED else np.ones(p)


def _gcv(u: Floats, s: Floats, y: Floats, intercept: int) -> float:
    """Return the penalty that minimises n RSS / (n - dof)^2 over a grid of 60 from 1e-8 to 1e2 times the mean s^2 / n.

    The smallest such: with fewer orthogonal rows than coordinates every penalty is as good, and shrinks the scores. One
    that leaves less than a fifth of the rows' freedom is none: about as many rows as coordinates can be fitted through
    every point, which the criterion may take for a perfect fit.
    """
    n, projected = len(y), u.T @ y
    outside = max(float(y @ y - projected @ projected), 0.0)
    if not len(s):
        return 1.0
    grid = np.geomspace(1e-8, 1e2, 60)[:, None] * (s**2).mean() / n
    kept = s**2 / (s**2 + n * grid)
    rss = outside + (((1 - kept) * projected) ** 2).sum(axis=1)
    free = np.maximum(n - intercept - kept.sum(axis=1), 1e-9 * n)
    loss = np.where(free >= _SPARE * (n - intercept), rss / free**2, np.inf)
    return float(grid[np.flatnonzero(loss <= loss.min() * (1 + _TIE))[0], 0])
